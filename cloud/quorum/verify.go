package quorum

import "time"

// Verify is the one check before a command runs. It accepts a command when, by
// the verifier's own policy and clock,
//   - the statement is for the policy's trust domain and has not expired,
//   - enough different approvers signed it with keys that the policy trusts,
//   - the proof leads from the leaf at its index to the signed root, in a tree
//     of the signed size,
//   - a leaf bound to a payload came with exactly that payload.
//
// It returns the approvers who signed (none under AllowUnapproved), or a
// *Refusal. It does not know what ran before: whoever calls it must keep a
// journal of (batch id, leaf hash).
func Verify(p Policy, c Command, now time.Time) ([]string, error) {
	approvers, err := VerifyApprovals(p, c.Statement, c.Approvals, now)
	if err != nil {
		return nil, err
	}
	if err := c.Leaf.Validate(); err != nil {
		return nil, err
	}
	// Two trees of different size can share a root-to-leaf path, so the size
	// must be the signed one.
	if c.TreeSize != c.Statement.LeafCount {
		return nil, refuse(ReasonWrongSize, "a proof for %d commands, %d were approved", c.TreeSize, c.Statement.LeafCount)
	}
	if c.Index >= c.TreeSize {
		return nil, refuse(ReasonWrongIndex, "index %d of %d commands", c.Index, c.TreeSize)
	}
	if err := verifyInclusion(c.Leaf.Hash(), c.Index, c.TreeSize, c.Proof, c.Statement.Root); err != nil {
		return nil, err
	}
	if err := c.Leaf.checkPayload(c.Payload); err != nil {
		return nil, err
	}
	return approvers, nil
}
