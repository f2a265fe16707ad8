package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/schema/postgres"
)

// newKeysetCommand groups what is done to the file that SECRETS_KEYSET names.
func newKeysetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keyset",
		Short: "Make the key set that seals secrets, or give it a new key",
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "create FILE",
			Short: "Make a key set; an existing file is left as it is and refused",
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("%s is there already: secrets may be sealed with it", args[0])
				}
				if _, err := postgres.LoadKeyset(args[0], true); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "made %s; keep a copy: nothing opens without it\n", args[0])
				return err
			},
		},
		&cobra.Command{
			Use:   "rotate FILE",
			Short: "Add a new key that seals from now on; the older ones still open",
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := postgres.RotateKeyset(args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "added a key to %s; start every api and worker again with it\n", args[0])
				return err
			},
		})
	return cmd
}
