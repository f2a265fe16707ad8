package quorum_test

import (
	"crypto/sha256"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// referenceRoot and referencePath follow the recursive definitions of RFC
// 6962, 2.1 and 2.1.1, and share no code with the package.
func referenceRoot(hashes []quorum.Hash) quorum.Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	k := split(len(hashes))
	return node(referenceRoot(hashes[:k]), referenceRoot(hashes[k:]))
}

func referencePath(m int, hashes []quorum.Hash) []quorum.Hash {
	if len(hashes) == 1 {
		return []quorum.Hash{}
	}
	k := split(len(hashes))
	if m < k {
		return append(referencePath(m, hashes[:k]), referenceRoot(hashes[k:]))
	}
	return append(referencePath(m-k, hashes[k:]), referenceRoot(hashes[:k]))
}

// split is the largest power of two below n.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

func node(left, right quorum.Hash) quorum.Hash {
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

func hashesOf(leaves []quorum.Leaf) []quorum.Hash {
	out := make([]quorum.Hash, len(leaves))
	for i, l := range leaves {
		out[i] = l.Hash()
	}
	return out
}

func TestTreeIsRFC6962(t *testing.T) {
	for n := 1; n <= 40; n++ {
		tree, hashes := treeOf(t, n), hashesOf(leaves(n))
		require.Equal(t, referenceRoot(hashes), tree.Root(), "size %d", n)
		require.EqualValues(t, n, tree.Size())
		for i := range n {
			path, err := tree.Proof(uint64(i))
			require.NoError(t, err)
			require.Equal(t, referencePath(i, hashes), path, "size %d index %d", n, i)
		}
	}
}

func TestTreeRefuses(t *testing.T) {
	refused := func(want quorum.Reason, leaves ...quorum.Leaf) {
		t.Helper()
		_, err := quorum.NewTree(leaves)
		require.Equal(t, want, quorum.ReasonOf(err))
	}
	a := quorum.Leaf{Subject: "a", Kind: "k"}
	refused(quorum.ReasonEmptyBatch)
	refused(quorum.ReasonDuplicateLeaf, a, quorum.Leaf{Subject: "b", Kind: "k"}, a)
	refused(quorum.ReasonDuplicateLeaf, a.Bind([]byte("x")), a.Bind([]byte("x")))
	refused(quorum.ReasonMalformed, quorum.Leaf{})
	refused(quorum.ReasonTooManyLeaves, make([]quorum.Leaf, quorum.MaxLeaves+1)...)
	_, err := quorum.NewTree([]quorum.Leaf{a, a.Bind(nil), a.Bind([]byte("x"))})
	require.NoError(t, err, "the same command with other payloads is another command")
	_, err = treeOf(t, 5).Proof(5)
	require.Equal(t, quorum.ReasonWrongIndex, quorum.ReasonOf(err))
}

func TestOrderMatters(t *testing.T) {
	l := leaves(3)
	before, err := quorum.NewTree(l)
	require.NoError(t, err)
	l[0], l[1] = l[1], l[0]
	after, err := quorum.NewTree(l)
	require.NoError(t, err)
	require.NotEqual(t, before.Root(), after.Root())
	require.Equal(t, leaves(3)[0], before.Leaf(0), "a tree keeps its own copy")
}

func TestLargestBatch(t *testing.T) {
	tree := treeOf(t, quorum.MaxLeaves)
	c, err := tree.Command(statementOf(tree), nil, quorum.MaxLeaves-1, payloadOf(quorum.MaxLeaves-1))
	require.NoError(t, err)
	_, err = quorum.Verify(quorum.Policy{TrustDomain: domain, AllowUnapproved: true}, c, now)
	require.NoError(t, err)
}

// TestProofHoldsForOnePlaceOnly moves a proof to every other index and size.
func TestProofHoldsForOnePlaceOnly(t *testing.T) {
	open := quorum.Policy{TrustDomain: domain, AllowUnapproved: true}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 33).Draw(rt, "size")
		i := uint64(rapid.IntRange(0, n-1).Draw(rt, "index"))
		tree := treeOf(t, n)
		c, err := tree.Command(statementOf(tree), nil, i, payloadOf(int(i)))
		require.NoError(rt, err)
		_, err = quorum.Verify(open, c, now)
		require.NoError(rt, err)

		moved := c
		moved.Index = uint64(rapid.IntRange(0, n+3).Filter(func(v int) bool { return uint64(v) != i }).Draw(rt, "other index"))
		_, err = quorum.Verify(open, moved, now)
		require.Contains(rt, []quorum.Reason{quorum.ReasonBadProof, quorum.ReasonWrongIndex}, quorum.ReasonOf(err))

		resized := c
		resized.TreeSize = uint64(rapid.IntRange(0, 70).Filter(func(v int) bool { return v != n }).Draw(rt, "other size"))
		_, err = quorum.Verify(open, resized, now)
		require.Equal(rt, quorum.ReasonWrongSize, quorum.ReasonOf(err))
	})
}

// TestInnerNodeIsNoLeaf tries to pass the parent of two leaves off as a leaf
// of a tree with half the size, the classic second preimage.
func TestInnerNodeIsNoLeaf(t *testing.T) {
	hashes := hashesOf(leaves(4))
	parent := append(append([]byte{}, hashes[0][:]...), hashes[1][:]...)
	undivided := quorum.Hash(sha256.Sum256(parent))
	leafLike := quorum.Hash(sha256.Sum256(append([]byte{0}, parent...)))
	inner := node(hashes[0], hashes[1])
	require.NotEqual(t, undivided, inner)
	require.NotEqual(t, leafLike, inner)
	require.Equal(t, treeOf(t, 4).Root(), node(inner, node(hashes[2], hashes[3])))

	// The nearest a command can come: a leaf whose subject holds the parent's
	// bytes in hex, with the proof of the upper level and the size to match.
	tree := treeOf(t, 4)
	c := quorum.Command{
		Statement: statementOf(tree), Index: 0, TreeSize: 2,
		Leaf:  quorum.Leaf{Subject: hashes[0].String() + hashes[1].String(), Kind: "k"},
		Proof: []quorum.Hash{node(hashes[2], hashes[3])},
	}
	open := quorum.Policy{TrustDomain: domain, AllowUnapproved: true}
	_, err := quorum.Verify(open, c, now)
	require.Equal(t, quorum.ReasonWrongSize, quorum.ReasonOf(err))
	c.Statement.LeafCount = 2
	_, err = quorum.Verify(open, c, now)
	require.Equal(t, quorum.ReasonBadProof, quorum.ReasonOf(err))
}
