// Command cloudresources is the whole system in one binary; each part is a
// sub-command.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
