package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cloud/quorum/daemon"
)

func newDaemonCommand() *cobra.Command {
	var path string
	var check bool
	cmd := &cobra.Command{
		Use:   "daemon --config FILE",
		Short: "Run the reference daemon: verify approved commands and run each at most once",
		Long: `Run the reference daemon. Its own file names the trust domain, the approvers'
keys, the threshold, the kinds it obeys, its address and its journal.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := daemon.LoadConfig(path)
			if err != nil || check {
				return err
			}
			return daemon.Run(cmd.Context(), config, slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)), nil)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "the daemon's file")
	cmd.Flags().BoolVar(&check, "check", false, "only check the file")
	mustFlags(cmd, "config")
	return cmd
}
