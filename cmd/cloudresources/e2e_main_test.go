//go:build unix

package main

import (
	"context"
	"flag"
	"os"
	"testing"
)

// asProgram makes the test binary be the program, so that a test can start the
// parts of a system as processes of their own and kill them.
const asProgram = "CLOUDRESOURCES_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	// The tests wait most of their time, so far more of them run side by side
	// than there are processors, unless -parallel says otherwise.
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "12"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
