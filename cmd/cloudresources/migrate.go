package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/schema/postgres"
)

func newMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the newest version of its tables",
		Long: `Bring the database that DATABASE_URL names to the newest version of its tables.
It may run any number of times, and from several places at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			if err := postgres.Migrate(cmd.Context(), cfg.DatabaseURL); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the database has the newest tables")
			return err
		},
	}
}
