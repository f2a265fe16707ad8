package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/schema/platform"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

func newApplyCommand() *cobra.Command {
	var path string
	var dryRun, check bool
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Make the platform what a file declares, in one transaction",
		Long: `Make the platform what a file declares: tenants, callers, policies, provider
accounts, pools, offers, limits and webhooks. All of it is in force for the next
call, or none. It prints what it changes; the same file again changes nothing.
What live resources still use is not dropped. docs/platform.md describes the file.

DATABASE_URL names the database, SECRETS_KEYSET the key set that seals tokens.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := platform.Load(path)
			if err != nil || check {
				return err
			}
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			keys, err := postgres.LoadKeyset(cfg.SecretsKeyset, false)
			if err != nil {
				return err
			}
			store, err := postgres.Open(cmd.Context(), cfg.DatabaseURL, postgres.WithKeyset(keys), postgres.WithMaxConns(2))
			if err != nil {
				return err
			}
			defer store.Close()
			changes, err := store.Apply(cmd.Context(), file, postgres.ApplyOptions{DryRun: dryRun})
			if err != nil {
				return err
			}
			return printChanges(cmd, changes, dryRun)
		},
	}
	cmd.Flags().StringVarP(&path, "file", "f", "", "the platform file, YAML or JSON")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change and change nothing")
	cmd.Flags().BoolVar(&check, "check", false, "only check the file, without a database")
	mustFlags(cmd, "file")
	return cmd
}

func printChanges(cmd *cobra.Command, changes postgres.Changes, dryRun bool) error {
	out := cmd.OutOrStdout()
	for _, line := range changes {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	word := "applied"
	if dryRun {
		word = "would be applied"
	}
	_, err := fmt.Fprintf(out, "%d changes %s\n", len(changes), word)
	return err
}
