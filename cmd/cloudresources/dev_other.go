//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

var errUnixOnly = errors.New("it runs on Linux and macOS only")

func newDevCommand() *cobra.Command { return unixOnly("dev", "Run the whole system in the foreground") }

func newDemoCommand() *cobra.Command { return unixOnly("demo", "Live one whole life of a database") }

// unixOnly stands in for a command that starts and signals processes in a way
// that this system lacks. Signing batches works everywhere.
func unixOnly(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short + " (not on this system)",
		RunE: func(*cobra.Command, []string) error { return errUnixOnly },
	}
}
