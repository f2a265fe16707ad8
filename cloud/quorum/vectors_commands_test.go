package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// approvalVectors are sets of approvals of the batch of seven.
func approvalVectors(t *testing.T) []approvalVector {
	st := statementOf(treeOf(t, 7))
	a, b, c := sign(t, alice, "alice", st), sign(t, bob, "bob", st), sign(t, carol, "carol", st)
	var out []approvalVector
	add := func(name, policy string, reason quorum.Reason, who []string, approvals ...quorum.Approval) {
		out = append(out, approvalVector{name, policy, now.UnixMilli(), st, approvals, reason, who})
	}
	add("two of three", "twoOfThree", "", []string{"alice", "bob"}, a, b)
	add("all three, any order", "twoOfThree", "", []string{"carol", "alice", "bob"}, c, a, b)
	noID := a
	noID.KeyID = nil
	add("without a key id", "oneOfThree", "", []string{"alice"}, noID)
	add("none", "twoOfThree", quorum.ReasonTooFewApprovers, []string{})
	add("one of two", "twoOfThree", quorum.ReasonTooFewApprovers, []string{"alice"}, a)
	add("one approver twice", "twoOfThree", quorum.ReasonRepeatedApprover, nil, a, a)
	add("one approver twice, once without a key id", "twoOfThree", quorum.ReasonRepeatedApprover, nil, a, noID)
	add("stranger", "twoOfThree", quorum.ReasonUnknownApprover, nil, a, sign(t, mallory, "mallory", st))
	add("stranger's key under a known name", "twoOfThree", quorum.ReasonUnknownKey, nil, a, sign(t, mallory, "bob", st))
	borrowed := sign(t, mallory, "bob", st)
	borrowed.KeyID = b.KeyID
	add("stranger's signature under a known key", "twoOfThree", quorum.ReasonBadSignature, nil, a, borrowed)
	add("revoked key", "twoOfThree", quorum.ReasonRevokedKey, nil, b, sign(t, alice2, "alice", st))
	add("another approver's signature", "twoOfThree", quorum.ReasonUnknownKey, nil, a, quorum.Approval{ApproverID: "bob", KeyID: a.KeyID, Signature: a.Signature})
	bent := a
	bent.Signature = addOrder(a.Signature)
	add("S + L", "twoOfThree", quorum.ReasonBadSignature, nil, bent, b)
	add("empty signature", "twoOfThree", quorum.ReasonBadSignature, nil, quorum.Approval{ApproverID: "alice"}, b)
	add("no approver id", "twoOfThree", quorum.ReasonMalformed, nil, quorum.Approval{Signature: a.Signature}, b)
	forged := quorum.Approval{ApproverID: "eve"}
	forged.Signature[0] = 1
	add("forged under a key of low order", "lowOrderKey", quorum.ReasonWeakKey, nil, forged)
	add("two approvers with one key", "sharedKey", quorum.ReasonRepeatedKey, nil, b, quorum.Approval{ApproverID: "dave", KeyID: b.KeyID, Signature: b.Signature})
	add("threshold out of reach", "unreachable", quorum.ReasonPolicy, nil, a, b, c)
	add("no approvers, not allowed", "closed", quorum.ReasonUnapproved, nil)
	add("no approvers, allowed", "open", "", []string{})
	add("approval that nobody can check", "open", quorum.ReasonUnknownApprover, nil, a)
	return out
}

// commandVectors are commands of batches that alice and bob signed, bent in
// one way each.
func commandVectors(t *testing.T) []commandVector {
	var out []commandVector
	add := func(name string, reason quorum.Reason, n int, index uint64, change func(*commandVector)) {
		v := commandVector{Name: name, Policy: "twoOfThree", Now: now.UnixMilli(), Command: approved(t, n, index), Reason: reason}
		change(&v)
		out = append(out, v)
	}
	nothing := func(*commandVector) {}
	add("first of seven, bound", "", 7, 0, nothing)
	add("last of seven", "", 7, 6, nothing)
	add("only one", "", 1, 0, nothing)
	add("not bound, any payload", "", 7, 2, func(v *commandVector) { v.Command.Payload = []byte("anything") })
	add("not bound, no payload", "", 7, 5, func(v *commandVector) { v.Command.Payload = nil })
	add("last moment", "", 7, 0, func(v *commandVector) { v.Now = expiry.UnixMilli() - 1 })
	out = append(out, emptyPayloadVectors(t)...)
	add("expired", quorum.ReasonExpired, 7, 0, func(v *commandVector) { v.Now = expiry.UnixMilli() })
	add("expiry pushed back", quorum.ReasonBadSignature, 7, 0, func(v *commandVector) { v.Command.Statement.ExpiresAt++ })
	add("another domain", quorum.ReasonWrongDomain, 7, 0, func(v *commandVector) { v.Command.Statement.TrustDomain = "other.example" })
	add("another batch id", quorum.ReasonBadSignature, 7, 0, func(v *commandVector) { v.Command.Statement.BatchID = "cmb_2" })
	add("root of other leaves", quorum.ReasonBadSignature, 7, 0, func(v *commandVector) { v.Command.Statement.Root = treeOf(t, 8).Root() })
	add("no leaf count", quorum.ReasonMalformed, 7, 0, func(v *commandVector) { v.Command.Statement.LeafCount = 0 })
	add("approvals missing", quorum.ReasonTooFewApprovers, 7, 0, func(v *commandVector) { v.Command.Approvals = nil })
	add("approvals of another batch", quorum.ReasonBadSignature, 7, 0, func(v *commandVector) { v.Command.Approvals = approved(t, 6, 0).Approvals })
	add("another index", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Index = 1 })
	add("index outside", quorum.ReasonWrongIndex, 7, 0, func(v *commandVector) { v.Command.Index = 7 })
	// In a tree of three the last leaf's path is also that of index 1 of two.
	add("same path in a smaller tree", quorum.ReasonWrongSize, 3, 2, func(v *commandVector) { v.Command.Index, v.Command.TreeSize = 1, 2 })
	add("size changed in the statement too", quorum.ReasonBadSignature, 3, 2, func(v *commandVector) {
		v.Command.Index, v.Command.TreeSize, v.Command.Statement.LeafCount = 1, 2, 2
	})
	add("proof of another leaf", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Proof = approved(t, 7, 4).Proof })
	add("proof forged", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Proof[1][0] ^= 1 })
	add("proof too long", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Proof = append(v.Command.Proof, quorum.Hash{}) })
	add("proof too short", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Proof = v.Command.Proof[:2] })
	add("another subject", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Leaf.Subject = "crs_9" })
	add("another kind", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Leaf.Kind = "cloudResource.update" })
	add("binding removed", quorum.ReasonBadProof, 7, 0, func(v *commandVector) { v.Command.Leaf.PayloadDigest = nil })
	add("bound to a new payload", quorum.ReasonBadProof, 7, 0, func(v *commandVector) {
		v.Command.Leaf, v.Command.Payload = v.Command.Leaf.Bind([]byte("new")), []byte("new")
	})
	add("payload tampered with", quorum.ReasonPayloadMismatch, 7, 0, func(v *commandVector) { v.Command.Payload = []byte(`{"n":1}`) })
	add("payload missing", quorum.ReasonPayloadMissing, 7, 0, func(v *commandVector) { v.Command.Payload = nil })
	add("payload emptied", quorum.ReasonPayloadMismatch, 7, 0, func(v *commandVector) { v.Command.Payload = []byte{} })
	add("no subject", quorum.ReasonMalformed, 7, 0, func(v *commandVector) { v.Command.Leaf.Subject = "" })
	hashes := hashesOf(leaves(4))
	add("inner node as a leaf", quorum.ReasonWrongSize, 4, 0, func(v *commandVector) {
		v.Command.Leaf = quorum.Leaf{Subject: hashes[0].String() + hashes[1].String(), Kind: "k"}
		v.Command.TreeSize, v.Command.Proof = 2, v.Command.Proof[1:]
	})
	add("no approvers, allowed", "", 7, 0, func(v *commandVector) { v.Policy, v.Command.Approvals = "open", nil })
	add("no approvers, allowed, proof forged", quorum.ReasonBadProof, 7, 0, func(v *commandVector) {
		v.Policy, v.Command.Approvals = "open", nil
		v.Command.Proof[0][5] ^= 4
	})
	return out
}

func emptyPayloadVectors(t *testing.T) []commandVector {
	tree, err := quorum.NewTree([]quorum.Leaf{quorum.Leaf{Subject: "crs_0", Kind: "k"}.Bind([]byte{})})
	require.NoError(t, err)
	st := statementOf(tree)
	with := func(name string, reason quorum.Reason, payload []byte) commandVector {
		c, err := tree.Command(st, []quorum.Approval{sign(t, alice, "alice", st), sign(t, bob, "bob", st)}, 0, payload)
		require.NoError(t, err)
		return commandVector{name, "twoOfThree", now.UnixMilli(), c, reason}
	}
	return []commandVector{with("bound to the empty payload", "", []byte{}), with("empty payload left out", quorum.ReasonPayloadMissing, nil)}
}
