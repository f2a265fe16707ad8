package quorum_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

var updateVectors = flag.Bool("update-vectors", false, "write testdata/vectors.json anew")

const vectorsPath = "testdata/vectors.json"

// vectors is the file's format; docs/quorum.md explains it to authors of
// daemons in other languages.
type vectors struct {
	Format     string                   `json:"format"`
	Keys       []keyVector              `json:"keys"`
	PublicKeys []publicKeyVector        `json:"publicKeys"`
	Leaves     []leafVector             `json:"leaves"`
	Trees      []treeVector             `json:"trees"`
	Statements []statementVector        `json:"statements"`
	Policies   map[string]quorum.Policy `json:"policies"`
	Approvals  []approvalVector         `json:"approvals"`
	Commands   []commandVector          `json:"commands"`
	Batches    []batchVector            `json:"batches"`
}

type keyVector struct {
	ApproverID string           `json:"approverId"`
	Seed       string           `json:"seed"`
	PublicKey  quorum.PublicKey `json:"publicKey"`
	KeyID      quorum.Hash      `json:"keyId"`
}

type publicKeyVector struct {
	Name   string        `json:"name"`
	Hex    string        `json:"hex"`
	Reason quorum.Reason `json:"reason"`
}

type leafVector struct {
	Leaf     quorum.Leaf   `json:"leaf"`
	Encoding string        `json:"encoding,omitempty"`
	Hash     *quorum.Hash  `json:"hash,omitempty"`
	Reason   quorum.Reason `json:"reason"`
}

type treeVector struct {
	LeafHashes []quorum.Hash   `json:"leafHashes"`
	Root       quorum.Hash     `json:"root"`
	Proofs     [][]quorum.Hash `json:"proofs"`
}

type statementVector struct {
	Statement quorum.Statement `json:"statement"`
	Encoding  string           `json:"encoding"`
	// Signatures maps an approver of Keys to the signature of its first key.
	Signatures map[string]quorum.Signature `json:"signatures"`
}

type approvalVector struct {
	Name      string            `json:"name"`
	Policy    string            `json:"policy"`
	Now       int64             `json:"now"`
	Statement quorum.Statement  `json:"statement"`
	Approvals []quorum.Approval `json:"approvals"`
	Reason    quorum.Reason     `json:"reason"`
	Approvers []string          `json:"approvers"`
}

type commandVector struct {
	Name    string         `json:"name"`
	Policy  string         `json:"policy"`
	Now     int64          `json:"now"`
	Command quorum.Command `json:"command"`
	Reason  quorum.Reason  `json:"reason"`
}

type batchVector struct {
	Name   string        `json:"name"`
	Batch  quorum.Batch  `json:"batch"`
	Reason quorum.Reason `json:"reason"`
	Root   *quorum.Hash  `json:"root,omitempty"`
}

// TestVectors holds the committed file against the generator and against the
// package, each case read from the file as a foreign daemon would.
func TestVectors(t *testing.T) {
	want, err := json.MarshalIndent(buildVectors(t), "", " ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *updateVectors {
		require.NoError(t, os.WriteFile(vectorsPath, want, 0o644))
	}
	data, err := os.ReadFile(vectorsPath)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, data), "%s is not what the generator makes; run go generate and look at the difference", vectorsPath)

	var v vectors
	require.NoError(t, quorum.DecodeStrict(data, &v))
	reasons := map[quorum.Reason]bool{}
	checkPrimitives(t, v, reasons)
	for _, c := range v.Approvals {
		who, err := quorum.VerifyApprovals(v.Policies[c.Policy], c.Statement, c.Approvals, time.UnixMilli(c.Now))
		require.Equal(t, c.Reason, quorum.ReasonOf(err), c.Name)
		require.Equal(t, c.Approvers, who, c.Name)
		reasons[c.Reason] = true
	}
	for _, c := range v.Commands {
		_, err := quorum.Verify(v.Policies[c.Policy], c.Command, time.UnixMilli(c.Now))
		require.Equal(t, c.Reason, quorum.ReasonOf(err), c.Name)
		reasons[c.Reason] = true
	}
	for _, c := range v.Batches {
		st, _, err := c.Batch.Open()
		require.Equal(t, c.Reason, quorum.ReasonOf(err), c.Name)
		if c.Reason == "" {
			require.Equal(t, *c.Root, st.Root, c.Name)
		}
		reasons[c.Reason] = true
	}
	for _, reason := range verifiersReasons {
		require.True(t, reasons[reason], "no vector shows %q", reason)
	}
}

// verifiersReasons are all reasons that a verifier by itself can give.
var verifiersReasons = []quorum.Reason{
	"", quorum.ReasonMalformed, quorum.ReasonPolicy, quorum.ReasonWeakKey, quorum.ReasonRepeatedKey, quorum.ReasonUnapproved,
	quorum.ReasonWrongDomain, quorum.ReasonExpired, quorum.ReasonTooFewApprovers, quorum.ReasonRepeatedApprover,
	quorum.ReasonUnknownApprover, quorum.ReasonUnknownKey, quorum.ReasonRevokedKey, quorum.ReasonBadSignature,
	quorum.ReasonWrongSize, quorum.ReasonWrongIndex, quorum.ReasonBadProof, quorum.ReasonPayloadMissing,
	quorum.ReasonPayloadMismatch, quorum.ReasonEmptyBatch, quorum.ReasonDuplicateLeaf, quorum.ReasonRootMismatch,
}

func checkPrimitives(t *testing.T, v vectors, reasons map[quorum.Reason]bool) {
	for _, k := range v.Keys {
		seed, err := hex.DecodeString(k.Seed)
		require.NoError(t, err)
		require.Equal(t, k.PublicKey, public(ed25519.NewKeyFromSeed(seed)))
		require.Equal(t, k.KeyID, k.PublicKey.ID())
	}
	for _, k := range v.PublicKeys {
		require.Equal(t, k.Reason, quorum.ReasonOf(keyFromHex(k.Hex).Check()), k.Name)
		reasons[k.Reason] = true
	}
	for _, l := range v.Leaves {
		require.Equal(t, l.Reason, quorum.ReasonOf(l.Leaf.Validate()))
		if l.Reason == "" {
			require.Equal(t, l.Encoding, hex.EncodeToString(l.Leaf.Encode()))
			require.Equal(t, *l.Hash, l.Leaf.Hash())
		}
	}
	for _, tree := range v.Trees {
		require.Equal(t, tree.Root, referenceRoot(tree.LeafHashes))
		for i, path := range tree.Proofs {
			require.Equal(t, path, referencePath(i, tree.LeafHashes))
		}
	}
	for _, s := range v.Statements {
		require.Equal(t, s.Encoding, hex.EncodeToString(s.Statement.Encode()))
		for _, k := range v.Keys {
			if sig, ok := s.Signatures[k.ApproverID]; ok && k.PublicKey != public(alice2) {
				require.True(t, ed25519.Verify(k.PublicKey[:], s.Statement.Encode(), sig[:]))
			}
		}
	}
}

func buildVectors(t *testing.T) vectors {
	v := vectors{Format: "better-compute/quorum-vectors/v1", Policies: vectorPolicies()}
	for i, id := range []string{"alice", "alice", "bob", "carol", "mallory"} {
		seed := bytes.Repeat([]byte{byte(i + 1)}, 32)
		key := public(ed25519.NewKeyFromSeed(seed))
		v.Keys = append(v.Keys, keyVector{id, hex.EncodeToString(seed), key, key.ID()})
	}
	v.PublicKeys = publicKeyVectors()
	v.Leaves = leafVectors()
	for n := 1; n <= 9; n++ {
		tree := treeOf(t, n)
		tv := treeVector{LeafHashes: hashesOf(leaves(n)), Root: tree.Root()}
		for i := range uint64(n) {
			path, err := tree.Proof(i)
			require.NoError(t, err)
			tv.Proofs = append(tv.Proofs, path)
		}
		v.Trees = append(v.Trees, tv)
	}
	for _, n := range []int{1, 7} {
		st := statementOf(treeOf(t, n))
		v.Statements = append(v.Statements, statementVector{st, hex.EncodeToString(st.Encode()), map[string]quorum.Signature{
			"alice": sign(t, alice, "alice", st).Signature, "bob": sign(t, bob, "bob", st).Signature,
		}})
	}
	v.Approvals = approvalVectors(t)
	v.Commands = commandVectors(t)
	v.Batches = batchVectors(t)
	return v
}

func vectorPolicies() map[string]quorum.Policy {
	weak := quorum.Policy{TrustDomain: domain, Threshold: 1, Approvers: []quorum.Approver{{ID: "eve", PublicKey: keyFromHex(lowOrderKeys[0])}}}
	twice := policy()
	twice.Approvers = append(twice.Approvers, quorum.Approver{ID: "dave", PublicKey: public(bob)})
	unreachable := policy()
	unreachable.Threshold = 4
	one := policy()
	one.Threshold = 1
	return map[string]quorum.Policy{
		"twoOfThree": policy(), "oneOfThree": one, "lowOrderKey": weak, "sharedKey": twice, "unreachable": unreachable,
		"open":   {TrustDomain: domain, AllowUnapproved: true},
		"closed": {TrustDomain: domain},
	}
}

func publicKeyVectors() []publicKeyVector {
	out := []publicKeyVector{{"good", hex.EncodeToString(alice.Public().(ed25519.PublicKey)), ""}}
	for i, k := range lowOrderKeys {
		out = append(out, publicKeyVector{fmt.Sprintf("low order %d", i), k, quorum.ReasonWeakKey})
	}
	for i, k := range otherEncodings {
		out = append(out, publicKeyVector{fmt.Sprintf("not canonical %d", i), k, quorum.ReasonWeakKey})
	}
	return append(out, publicKeyVector{"no point", "0200000000000000000000000000000000000000000000000000000000000000", quorum.ReasonWeakKey})
}

func leafVectors() []leafVector {
	var out []leafVector
	for _, l := range []quorum.Leaf{
		{Subject: "crs_1", Kind: "cloudResource.delete"},
		quorum.Leaf{Subject: "crs_1", Kind: "cloudResource.delete"}.Bind([]byte(`{"force":true}`)),
		quorum.Leaf{Subject: "crs_1", Kind: "cloudResource.delete"}.Bind([]byte{}),
		{Subject: "a", Kind: "bc"},
		{Subject: "ab", Kind: "c"},
		{Subject: "データベース/1", Kind: "k"},
	} {
		hash := l.Hash()
		out = append(out, leafVector{Leaf: l, Encoding: hex.EncodeToString(l.Encode()), Hash: &hash})
	}
	for _, l := range []quorum.Leaf{{Kind: "k"}, {Subject: "s"}, {Subject: "a\x00b", Kind: "k"}, {Subject: "s", Kind: "a b"}} {
		out = append(out, leafVector{Leaf: l, Reason: quorum.ReasonMalformed})
	}
	return out
}

func batchVectors(t *testing.T) []batchVector {
	good := newBatch(t)
	out := []batchVector{{"good", good, "", good.Root}}
	add := func(name string, reason quorum.Reason, change func(*quorum.Batch)) {
		b := newBatch(t)
		change(&b)
		out = append(out, batchVector{Name: name, Batch: b, Reason: reason})
	}
	add("no leaves", quorum.ReasonEmptyBatch, func(b *quorum.Batch) { b.Leaves = nil })
	add("a leaf twice", quorum.ReasonDuplicateLeaf, func(b *quorum.Batch) { b.Leaves[4] = b.Leaves[1] })
	add("another root", quorum.ReasonRootMismatch, func(b *quorum.Batch) { b.Root[0] ^= 1 })
	add("payload shown but not bound", quorum.ReasonPayloadMismatch, func(b *quorum.Batch) { b.Leaves[2].Payload = []byte("harmless") })
	return out
}
