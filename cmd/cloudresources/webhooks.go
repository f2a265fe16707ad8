package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/schema/postgres"
)

// newWebhooksCommand groups what operators do with events that could not be
// delivered.
func newWebhooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Show events that could not be delivered, and send them again",
		Long: `Events go to the subscribers of the platform file, each resource's in order. One
that a subscriber does not take is tried again for three days, then given up: it
is dead. A subscriber that answers 410 Gone is made inactive, and what waited for
it is dead at once; replaying all of it makes it active again.

DATABASE_URL names the database.`,
	}
	cmd.AddCommand(newWebhooksDeadCommand(), newWebhooksReplayCommand())
	return cmd
}

func newWebhooksDeadCommand() *cobra.Command {
	var subscriber string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List dead deliveries, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit must be 1 or more")
			}
			return withStore(cmd, func(store *postgres.Store) error {
				dead, err := store.DeadDeliveries(cmd.Context(), subscriber, limit)
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if asJSON {
					return json.NewEncoder(out).Encode(dead)
				}
				if len(dead) == 0 {
					_, err := fmt.Fprintln(out, "nothing is dead")
					return err
				}
				table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "SUBSCRIBER\tEVENT\tTYPE\tAT\tATTEMPTS\tERROR")
				for _, d := range dead {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", d.Subscriber, d.EventID, d.Type, d.At.Format(time.RFC3339), d.Attempts, d.Error)
				}
				return table.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&subscriber, "subscriber", "", "only those of this subscriber")
	cmd.Flags().IntVar(&limit, "limit", 100, "list at most so many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newWebhooksReplayCommand() *cobra.Command {
	var event string
	cmd := &cobra.Command{
		Use:   "replay SUBSCRIBER",
		Short: "Send dead deliveries of a subscriber again, all or one",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, func(store *postgres.Store) error {
				n, err := store.ReplayDeliveries(cmd.Context(), args[0], event)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d to be sent again\n", n)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&event, "event", "", "only the delivery of this event")
	return cmd
}

// withStore opens the database for one command.
func withStore(cmd *cobra.Command, do func(store *postgres.Store) error) error {
	cfg, err := readConfig()
	if err != nil {
		return err
	}
	store, err := postgres.Open(cmd.Context(), cfg.DatabaseURL, postgres.WithMaxConns(2))
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}
