package quorum

import (
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// Tree is the RFC 6962 Merkle tree over a batch's leaves in the order given:
// leaf i has index i. It keeps all nodes and does not change.
type Tree struct {
	leaves []Leaf
	root   Hash
	nodes  map[compact.NodeID][]byte
}

// NewTree builds the tree. It refuses no leaves at all (emptyBatch), more than
// MaxLeaves (tooManyLeaves), a bad leaf (malformed) and equal leaves
// (duplicateLeaf): a leaf's hash is what a daemon remembers as done.
func NewTree(leaves []Leaf) (*Tree, error) {
	if len(leaves) == 0 {
		return nil, refuse(ReasonEmptyBatch, "a batch has at least one command")
	}
	if len(leaves) > MaxLeaves {
		return nil, refuse(ReasonTooManyLeaves, "a batch has at most %d commands", MaxLeaves)
	}
	t := &Tree{leaves: append([]Leaf(nil), leaves...), nodes: map[compact.NodeID][]byte{}}
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	all := factory.NewEmptyRange(0)
	seen := make(map[Hash]int, len(leaves))
	keep := func(id compact.NodeID, hash []byte) { t.nodes[id] = hash }
	for i, leaf := range leaves {
		if err := leaf.Validate(); err != nil {
			return nil, refuse(ReasonOf(err), "command %d: %v", i, err.(*Refusal).Message)
		}
		hash := leaf.Hash()
		if first, ok := seen[hash]; ok {
			return nil, refuse(ReasonDuplicateLeaf, "commands %d and %d are the same", first, i)
		}
		seen[hash] = i
		if err := all.Append(hash[:], keep); err != nil {
			return nil, refuse(ReasonMalformed, "command %d: %v", i, err)
		}
	}
	root, err := all.GetRootHash(nil)
	if err != nil {
		return nil, refuse(ReasonMalformed, "root: %v", err)
	}
	t.root = Hash(root)
	return t, nil
}

// Root is the hash that approvers sign.
func (t *Tree) Root() Hash { return t.root }

// Size is the number of leaves.
func (t *Tree) Size() uint64 { return uint64(len(t.leaves)) }

// Leaf returns the leaf at index, which must be below Size.
func (t *Tree) Leaf(index uint64) Leaf { return t.leaves[index] }

// Proof is the inclusion proof of the leaf at index: the sibling hashes from
// the leaf upwards, none for a tree of one leaf. An index outside the tree is
// refused (wrongIndex).
func (t *Tree) Proof(index uint64) ([]Hash, error) {
	plan, err := proof.Inclusion(index, t.Size())
	if err != nil {
		return nil, refuse(ReasonWrongIndex, "index %d of %d commands", index, t.Size())
	}
	hashes := make([][]byte, len(plan.IDs))
	for i, id := range plan.IDs {
		hashes[i] = t.nodes[id]
	}
	path, err := plan.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
	if err != nil {
		return nil, refuse(ReasonBadProof, "index %d: %v", index, err)
	}
	out := make([]Hash, len(path))
	for i, hash := range path {
		out[i] = Hash(hash)
	}
	return out, nil
}

// verifyInclusion refuses a path that does not lead from the leaf at index to
// the root of a tree of that size. The caller has checked index < size.
func verifyInclusion(leaf Hash, index, size uint64, path []Hash, root Hash) error {
	raw := make([][]byte, len(path))
	for i := range path {
		raw[i] = path[i][:]
	}
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, size, leaf[:], raw, root[:]); err != nil {
		return refuse(ReasonBadProof, "the proof does not lead from the command at index %d to the approved root", index)
	}
	return nil
}
