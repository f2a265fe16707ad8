package quorum_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func batchLeaves(n int) []quorum.BatchLeaf {
	out := make([]quorum.BatchLeaf, n)
	for i, l := range leaves(n) {
		out[i].Leaf = l
		if l.PayloadDigest != nil {
			out[i].Payload = payloadOf(i)
		}
	}
	return out
}

func newBatch(t testing.TB) quorum.Batch {
	t.Helper()
	b, err := quorum.NewBatch(domain, "cmb_1", expiry, batchLeaves(5))
	require.NoError(t, err)
	return b
}

func TestBatchFileGivesTheStatementOfItsLeaves(t *testing.T) {
	data, err := json.Marshal(newBatch(t))
	require.NoError(t, err)
	b, err := quorum.DecodeBatch(data)
	require.NoError(t, err)
	st, tree, err := b.Open()
	require.NoError(t, err)
	require.Equal(t, statementOf(treeOf(t, 5)), st)
	require.Equal(t, st.Root, tree.Root())

	b.Root = nil
	again, _, err := b.Open()
	require.NoError(t, err)
	require.Equal(t, st, again, "the root in the file adds nothing")
}

func TestBatchFileRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*quorum.Batch)
		want   quorum.Reason
	}{
		"another root":              {func(b *quorum.Batch) { b.Root[3] ^= 1 }, quorum.ReasonRootMismatch},
		"leaf swapped under a root": {func(b *quorum.Batch) { b.Leaves[2].Subject = "crs_other" }, quorum.ReasonRootMismatch},
		"payload of another leaf":   {func(b *quorum.Batch) { b.Leaves[0].Payload = payloadOf(1) }, quorum.ReasonPayloadMismatch},
		"payload that is not bound": {func(b *quorum.Batch) { b.Leaves[2].Payload = payloadOf(2) }, quorum.ReasonPayloadMismatch},
		"no leaves":                 {func(b *quorum.Batch) { b.Leaves = nil }, quorum.ReasonEmptyBatch},
		"a leaf twice":              {func(b *quorum.Batch) { b.Leaves[1] = b.Leaves[0] }, quorum.ReasonDuplicateLeaf},
		"another format":            {func(b *quorum.Batch) { b.Format = "x" }, quorum.ReasonMalformed},
		"no domain":                 {func(b *quorum.Batch) { b.TrustDomain = "" }, quorum.ReasonMalformed},
	} {
		b := newBatch(t)
		tc.change(&b)
		_, _, err := b.Open()
		require.Equal(t, tc.want, quorum.ReasonOf(err), name)
	}
	for _, text := range []string{``, `[]`, `{"format":"x"} {}`, `{"formt":"x"}`, `{"leaves":[{"payloadDigest":"00"}]}`} {
		_, err := quorum.DecodeBatch([]byte(text))
		require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(err), text)
	}
}

func TestDecodePolicyReadsLargerFiles(t *testing.T) {
	data, err := json.Marshal(policy())
	require.NoError(t, err)
	var file map[string]any
	require.NoError(t, json.Unmarshal(data, &file))
	file["listen"] = "127.0.0.1:1"
	data, err = json.Marshal(file)
	require.NoError(t, err)
	p, err := quorum.DecodePolicy(data)
	require.NoError(t, err)
	require.Equal(t, policy(), p)
	_, err = quorum.DecodePolicy([]byte(`{"trustDomain":"d","approvers":[{"id":"a","publicKey":"short"}],"threshold":1}`))
	require.Equal(t, quorum.ReasonPolicy, quorum.ReasonOf(err))
}
