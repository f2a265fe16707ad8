package quorum_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// FuzzVerify feeds any bytes as a command. The signatures of the fixture's
// approvers exist for one batch only, so whatever is accepted must be one of
// its commands.
func FuzzVerify(f *testing.F) {
	accepted := map[quorum.Hash]uint64{}
	for i := range uint64(7) {
		c := approved(f, 7, i)
		accepted[c.Leaf.Hash()] = i
		data, err := json.Marshal(c)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"statement":{"trustDomain":"vectors.example","leafCount":1},"approvals":[{}],"treeSize":1}`))
	f.Add([]byte(`{"index":18446744073709551615,"treeSize":18446744073709551615}`))
	st := statementOf(treeOf(f, 7))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c quorum.Command
		if quorum.DecodeStrict(data, &c) != nil {
			return
		}
		if _, err := quorum.Verify(policy(), c, now); err != nil {
			require.NotEmpty(t, quorum.ReasonOf(err))
			return
		}
		index, ok := accepted[c.Leaf.Hash()]
		require.True(t, ok)
		require.Equal(t, index, c.Index)
		require.Equal(t, st, c.Statement)
		if c.Leaf.PayloadDigest != nil {
			require.Equal(t, payloadOf(int(index)), c.Payload)
		}
	})
}

// FuzzLeafEncoding: what decodes as a leaf encodes to the same bytes, so no
// bytes stand for two leaves.
func FuzzLeafEncoding(f *testing.F) {
	for _, l := range leaves(3) {
		f.Add(l.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		leaf, err := decodeLeaf(data)
		if err != nil {
			return
		}
		require.True(t, bytes.Equal(data, leaf.Encode()))
	})
}

// FuzzBatch: any bytes as a batch file. What opens must open to the same
// statement after a round trip, and its tree must prove every leaf.
func FuzzBatch(f *testing.F) {
	data, err := json.Marshal(newBatch(f))
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"format":"better-compute/batch/v1","trustDomain":"d","batchId":"b","expiresAt":1,"leaves":[{"subject":"s","kind":"k"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := quorum.DecodeBatch(data)
		if err != nil {
			return
		}
		st, tree, err := b.Open()
		if err != nil {
			require.NotEmpty(t, quorum.ReasonOf(err))
			return
		}
		again, err := json.Marshal(b)
		require.NoError(t, err)
		back, err := quorum.DecodeBatch(again)
		require.NoError(t, err)
		st2, _, err := back.Open()
		require.NoError(t, err)
		require.True(t, reflect.DeepEqual(st, st2))
		c, err := tree.Command(st, nil, st.LeafCount-1, b.Leaves[st.LeafCount-1].Payload)
		require.NoError(t, err)
		_, err = quorum.Verify(quorum.Policy{TrustDomain: st.TrustDomain, AllowUnapproved: true}, c, now)
		require.Contains(t, []quorum.Reason{"", quorum.ReasonExpired, quorum.ReasonPayloadMissing}, quorum.ReasonOf(err))
	})
}

// FuzzKeyCheck: no key that passes the check accepts a forged signature.
func FuzzKeyCheck(f *testing.F) {
	for _, text := range append(lowOrderKeys, otherEncodings...) {
		key := keyFromHex(text)
		f.Add(key[:])
	}
	key := public(alice)
	f.Add(key[:])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) != 32 {
			return
		}
		key := quorum.PublicKey(data)
		if key.Check() == nil {
			require.False(t, forge(key))
		}
	})
}
