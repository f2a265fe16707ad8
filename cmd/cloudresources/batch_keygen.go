package main

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func newBatchKeygenCommand() *cobra.Command {
	var id, domain, out string
	cmd := &cobra.Command{
		Use:   "keygen --id NAME --out FILE",
		Short: "Make an approver's key and print its entry for pki.approvers",
		Long: `Make an approver's Ed25519 key on this machine. The file is readable by you
only and an existing one is never replaced. The entry for pki.approvers of the
platform file, which is public, goes to standard output.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := quorum.NewKeyFile(id, domain, rand.Reader)
			if err != nil {
				return err
			}
			if err := quorum.WriteKeyFile(out, key); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "The private key is in %s; keep it off the control plane.\nKey id: %s\nAdd to pki.approvers:\n",
				out, key.PublicKey.ID())
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "- {id: %q, publicKey: %q}\n", key.ApproverID, key.PublicKey)
			return err
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the approver's id")
	cmd.Flags().StringVar(&domain, "trust-domain", "", "let the key sign for this trust domain only")
	cmd.Flags().StringVar(&out, "out", "", "the key file to create")
	mustFlags(cmd, "id", "out")
	return cmd
}

// mustFlags marks flags as required. It can fail only for a flag that the
// command does not define, which is a mistake in the code.
func mustFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}
