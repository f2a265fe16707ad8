package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// commands are the sub-commands, in the order of the help text.
var commands = []func() *cobra.Command{
	newMigrateCommand,
	newApplyCommand,
	newKeysetCommand,
	newAPICommand,
	newWorkerCommand,
	newSimulateCommand,
	newDevCommand,
	newDemoCommand,
	newWebhooksCommand,
	newBatchCommand,
	newDaemonCommand,
	newBenchCommand,
}

// run is the program: it carries out the command line and returns the exit code.
// The first SIGINT or SIGTERM ends a command in order, the second at once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()

	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintln(stderr, "cloudresources: interrupted")
		} else {
			fmt.Fprintln(stderr, "cloudresources:", err)
		}
		return 1
	}
	return 0
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cloudresources",
		Short:         "A control plane for a cloud provider's managed services",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, newCommand := range commands {
		root.AddCommand(newCommand())
	}
	return root
}
