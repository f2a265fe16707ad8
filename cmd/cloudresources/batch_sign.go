package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// errNotSigned: the person said no, or nothing.
var errNotSigned = errors.New("not signed")

type signOptions struct {
	keyPath, batchPath, out string
	yes                     bool
}

func newBatchSignCommand() *cobra.Command {
	var o signOptions
	cmd := &cobra.Command{
		Use:   "sign --key FILE --batch FILE",
		Short: "Show every command of a batch and sign it",
		Long: `Show every command of a batch, ask, and write an approval file to hand in.
The root that is signed is computed from the commands shown, never taken from
the file. Nothing is sent anywhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return signBatch(o, cmd.InOrStdin(), cmd.OutOrStdout(), time.Now())
		},
	}
	cmd.Flags().StringVar(&o.keyPath, "key", "", "your key file, made by keygen")
	cmd.Flags().StringVar(&o.batchPath, "batch", "", "the batch file")
	cmd.Flags().StringVar(&o.out, "out", "", "the approval file to write (default <batch id>.<approver id>.approval.json)")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "sign without asking")
	mustFlags(cmd, "key", "batch")
	return cmd
}

func signBatch(o signOptions, in io.Reader, out io.Writer, now time.Time) error {
	key, err := quorum.ReadKeyFile(o.keyPath)
	if err != nil {
		return err
	}
	batch, err := readBatchFile(o.batchPath)
	if err != nil {
		return err
	}
	st, _, err := batch.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", o.batchPath, err)
	}
	if err := showBatch(out, batch, st, now); err != nil {
		return err
	}
	if st.Expired(now) {
		return errors.New("the batch has expired; nothing was signed")
	}
	// Signing before asking changes nothing, as the signature stays in memory,
	// and a key that may not sign this batch says so before the question.
	approval, err := key.Sign(st)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Signing as %s, key %s.\n", key.ApproverID, key.PublicKey.ID())
	if !o.yes {
		if err := confirm(in, out, st.LeafCount); err != nil {
			return err
		}
	}
	path := o.out
	if path == "" {
		path = approvalFileName(st.BatchID, key.ApproverID)
	}
	data, err := json.MarshalIndent(approval, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Signed. Hand in %s\n", path)
	return err
}

// confirm asks for the number of commands: it takes a look at the list to
// answer, unlike y.
func confirm(in io.Reader, out io.Writer, count uint64) error {
	fmt.Fprintf(out, "Type %d (the number of commands) or yes to sign, anything else to stop: ", count)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	fmt.Fprintln(out)
	switch strings.TrimSpace(line) {
	case "yes", strconv.FormatUint(count, 10):
		return nil
	}
	return errNotSigned
}

// approvalFileName keeps to the current folder; ids may contain colons, which
// some file systems refuse.
func approvalFileName(batchID, approverID string) string {
	return strings.ReplaceAll(batchID+"."+approverID+".approval.json", ":", "_")
}
