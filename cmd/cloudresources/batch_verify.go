package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// errNotApproved ends batch verify when something is missing or wrong.
var errNotApproved = errors.New("the batch is not approved")

func newBatchVerifyCommand() *cobra.Command {
	var batchPath, policyPath string
	cmd := &cobra.Command{
		Use:   "verify --batch FILE --policy FILE [APPROVAL...]",
		Short: "Check approval files against a batch and a policy and say what is missing",
		Long: `Check approval files as a daemon would. The policy file is JSON with
trustDomain, approvers and threshold; a daemon's own file will do. The exit
status is 0 only when the batch is approved and every file given is valid.`,
		RunE: func(cmd *cobra.Command, approvals []string) error {
			return verifyBatch(batchPath, policyPath, approvals, cmd.OutOrStdout(), time.Now())
		},
	}
	cmd.Flags().StringVar(&batchPath, "batch", "", "the batch file")
	cmd.Flags().StringVar(&policyPath, "policy", "", "the policy file")
	mustFlags(cmd, "batch", "policy")
	return cmd
}

func verifyBatch(batchPath, policyPath string, paths []string, out io.Writer, now time.Time) error {
	batch, err := readBatchFile(batchPath)
	if err != nil {
		return err
	}
	st, _, err := batch.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", batchPath, err)
	}
	data, err := os.ReadFile(policyPath)
	if err != nil {
		return err
	}
	policy, err := quorum.DecodePolicy(data)
	if err != nil {
		return fmt.Errorf("%s: %w", policyPath, err)
	}
	if !policy.RequiresApproval() {
		return fmt.Errorf("%s: the policy has no approvers", policyPath)
	}
	approvals, sound := readApprovals(policy, st, paths, out, now)
	approvers, err := quorum.VerifyApprovals(policy, st, approvals, now)
	fmt.Fprintf(out, "Approved by %d of %d.\n", len(approvers), policy.Threshold)
	switch reason := quorum.ReasonOf(err); {
	case reason == quorum.ReasonTooFewApprovers:
		fmt.Fprintf(out, "Missing %d more, of: %s\n", policy.Threshold-len(approvers), strings.Join(othersThan(policy, approvers), ", "))
	case err != nil:
		fmt.Fprintln(out, err)
	}
	if err != nil || !sound {
		return errNotApproved
	}
	return nil
}

// readApprovals judges each file alone, so that every one gets its own line.
// It returns the valid ones and whether all were.
func readApprovals(policy quorum.Policy, st quorum.Statement, paths []string, out io.Writer, now time.Time) (valid []quorum.Approval, sound bool) {
	sound = true
	for _, path := range paths {
		file, err := readApproval(path)
		if err == nil && file.Statement != st {
			err = errors.New("it approves something else: batch, trust domain, root, number or expiry differ")
		}
		if err == nil {
			err = quorum.VerifyApproval(policy, st, file.Approval, now)
		}
		if err != nil {
			sound = false
			fmt.Fprintf(out, "%s: refused: %v\n", path, err)
			continue
		}
		fmt.Fprintf(out, "%s: valid, by %s\n", path, file.Approval.ApproverID)
		valid = append(valid, file.Approval)
	}
	return valid, sound
}

func readApproval(path string) (quorum.ApprovalFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return quorum.ApprovalFile{}, err
	}
	return quorum.DecodeApproval(data)
}

// othersThan lists who can still sign.
func othersThan(policy quorum.Policy, approvers []string) []string {
	var out []string
	for _, a := range policy.Approvers {
		if !a.Revoked && !slices.Contains(approvers, a.ID) {
			out = append(out, a.ID)
		}
	}
	return out
}
