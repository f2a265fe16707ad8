package quorum_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

const domain = "vectors.example"

var (
	now    = time.UnixMilli(1_800_000_000_000)
	expiry = now.Add(time.Hour)

	alice, alice2 = keyOf(1), keyOf(2)
	bob, carol    = keyOf(3), keyOf(4)
	mallory       = keyOf(5)
)

// keyOf makes a key from a seed of 32 equal bytes, so that vectors never
// change.
func keyOf(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func public(k ed25519.PrivateKey) quorum.PublicKey {
	return quorum.PublicKey(k.Public().(ed25519.PublicKey))
}

// policy trusts three approvers, any two of them; alice once had another key.
func policy() quorum.Policy {
	return quorum.Policy{TrustDomain: domain, Threshold: 2, Approvers: []quorum.Approver{
		{ID: "alice", PublicKey: public(alice)},
		{ID: "alice", PublicKey: public(alice2), Revoked: true},
		{ID: "bob", PublicKey: public(bob)},
		{ID: "carol", PublicKey: public(carol)},
	}}
}

func payloadOf(i int) []byte { return fmt.Appendf(nil, `{"n":%d}`, i) }

// leaves makes n leaves; every third is not bound to a payload.
func leaves(n int) []quorum.Leaf {
	out := make([]quorum.Leaf, n)
	for i := range out {
		out[i] = quorum.Leaf{Subject: fmt.Sprintf("crs_%d", i), Kind: "cloudResource.delete"}
		if i%3 != 2 {
			out[i] = out[i].Bind(payloadOf(i))
		}
	}
	return out
}

func treeOf(t testing.TB, n int) *quorum.Tree {
	t.Helper()
	tree, err := quorum.NewTree(leaves(n))
	require.NoError(t, err)
	return tree
}

func statementOf(tree *quorum.Tree) quorum.Statement {
	return quorum.Statement{TrustDomain: domain, BatchID: "cmb_1", Root: tree.Root(), LeafCount: tree.Size(), ExpiresAt: expiry.UnixMilli()}
}

func sign(t testing.TB, key ed25519.PrivateKey, id string, st quorum.Statement) quorum.Approval {
	t.Helper()
	a, err := quorum.Sign(key, id, st)
	require.NoError(t, err)
	return a
}

// approved is command index of a batch of n that alice and bob signed.
func approved(t testing.TB, n int, index uint64) quorum.Command {
	t.Helper()
	tree := treeOf(t, n)
	st := statementOf(tree)
	c, err := tree.Command(st, []quorum.Approval{sign(t, alice, "alice", st), sign(t, bob, "bob", st)}, index, payloadOf(int(index)))
	require.NoError(t, err)
	return c
}

// addOrder turns a signature (R, S) into (R, S+L), which satisfies the same
// equation.
func addOrder(s quorum.Signature) quorum.Signature {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	half := slices.Clone(s[32:])
	slices.Reverse(half)
	sum := new(big.Int).Add(new(big.Int).SetBytes(half), order)
	sum.FillBytes(half)
	slices.Reverse(half)
	copy(s[32:], half)
	return s
}
