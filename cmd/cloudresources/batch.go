package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// newBatchCommand groups what approvers do on their own machine. None of it
// uses the network or any configuration.
func newBatchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "batch",
		Short: "Make approver keys, sign command batches and check signatures, offline",
	}
	cmd.AddCommand(newBatchKeygenCommand(), newBatchSignCommand(), newBatchVerifyCommand())
	return cmd
}

// shownPayloadBytes is how much of a payload is printed before the digest has
// to speak for the rest.
const shownPayloadBytes = 4 << 10

func readBatchFile(path string) (quorum.Batch, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return quorum.Batch{}, err
	}
	batch, err := quorum.DecodeBatch(data)
	if err != nil {
		return quorum.Batch{}, fmt.Errorf("%s: %w", path, err)
	}
	return batch, nil
}

// showBatch prints everything that a signature would cover. Text from the file
// is quoted in ASCII, so that it can neither move the cursor nor pass one
// letter off as another.
func showBatch(w io.Writer, batch quorum.Batch, st quorum.Statement, now time.Time) error {
	expires := time.UnixMilli(st.ExpiresAt).UTC()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "Batch\t%s\n", st.BatchID)
	fmt.Fprintf(table, "Trust domain\t%s\n", st.TrustDomain)
	fmt.Fprintf(table, "Expires\t%s (in %s)\n", expires.Format(time.RFC3339), expires.Sub(now).Round(time.Second))
	fmt.Fprintf(table, "Root\t%s, computed from the commands below\n", st.Root)
	fmt.Fprintf(table, "Commands\t%d\n", st.LeafCount)
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i, leaf := range batch.Leaves {
		fmt.Fprintf(w, "%5d  %s  %s\n", i, leaf.Kind, strconv.QuoteToASCII(leaf.Subject))
		if _, err := fmt.Fprintf(w, "       %s\n", describePayload(leaf)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func describePayload(leaf quorum.BatchLeaf) string {
	switch {
	case leaf.PayloadDigest == nil:
		return "not bound to a payload: any payload may be sent with it"
	case leaf.Payload == nil:
		return fmt.Sprintf("payload SHA-256 %s, not included in the file", leaf.PayloadDigest)
	}
	shown, rest := leaf.Payload, ""
	if len(shown) > shownPayloadBytes {
		rest = fmt.Sprintf(" and %d more bytes that are not shown", len(shown)-shownPayloadBytes)
		shown = shown[:shownPayloadBytes]
	}
	return fmt.Sprintf("payload SHA-256 %s, %d bytes: %s%s",
		leaf.PayloadDigest, len(leaf.Payload), strconv.QuoteToASCII(string(shown)), rest)
}
