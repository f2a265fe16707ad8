// Command testenv runs a command with a throwaway Postgres and a throwaway
// Temporal server:
//
//	testenv -- go test ./...
//
// The command finds them in TEST_DATABASE_URL (a superuser of a cluster) and
// TEST_TEMPORAL_ADDRESS; where one is set already, that server is used and none is
// started. The exit code is the command's. The servers end with it, whatever ends
// it.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], signals, os.Stderr))
}
