package quorum_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func TestStatementEncodingIsTheDocumentedOne(t *testing.T) {
	st := quorum.Statement{TrustDomain: "d", BatchID: "b1", LeafCount: 258, ExpiresAt: 0x0102030405}
	st.Root[0], st.Root[31] = 7, 9
	want := "\x00\x00\x00\x22better-compute/quorum/statement/v1" + "\x00\x00\x00\x01d" + "\x00\x00\x00\x02b1" +
		string(st.Root[:]) + "\x00\x00\x00\x00\x00\x00\x01\x02" + "\x00\x00\x00\x01\x02\x03\x04\x05"
	require.Equal(t, want, string(st.Encode()))
}

func TestPolicyValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*quorum.Policy)
		want   quorum.Reason
	}{
		"good":                        {func(*quorum.Policy) {}, ""},
		"no domain":                   {func(p *quorum.Policy) { p.TrustDomain = "" }, quorum.ReasonPolicy},
		"domain with a space":         {func(p *quorum.Policy) { p.TrustDomain = "a b" }, quorum.ReasonPolicy},
		"threshold 0":                 {func(p *quorum.Policy) { p.Threshold = 0 }, quorum.ReasonPolicy},
		"threshold negative":          {func(p *quorum.Policy) { p.Threshold = -1 }, quorum.ReasonPolicy},
		"threshold out of reach":      {func(p *quorum.Policy) { p.Threshold = 4 }, quorum.ReasonPolicy},
		"threshold of all who can":    {func(p *quorum.Policy) { p.Threshold = 3 }, ""},
		"revoked ones do not count":   {func(p *quorum.Policy) { p.Threshold = 3; p.Approvers[2].Revoked = true }, quorum.ReasonPolicy},
		"one key for two":             {func(p *quorum.Policy) { p.Approvers[2].PublicKey = public(alice) }, quorum.ReasonRepeatedKey},
		"a revoked key for another":   {func(p *quorum.Policy) { p.Approvers[2].PublicKey = public(alice2) }, quorum.ReasonRepeatedKey},
		"two usable keys for one":     {func(p *quorum.Policy) { p.Approvers[1].Revoked = false }, quorum.ReasonPolicy},
		"approver without an id":      {func(p *quorum.Policy) { p.Approvers[0].ID = "" }, quorum.ReasonPolicy},
		"key left out":                {func(p *quorum.Policy) { p.Approvers[0].PublicKey = quorum.PublicKey{} }, quorum.ReasonWeakKey},
		"unapproved beside approvers": {func(p *quorum.Policy) { p.AllowUnapproved = true }, quorum.ReasonPolicy},
		"threshold of nobody":         {func(p *quorum.Policy) { p.Approvers = nil }, quorum.ReasonPolicy},
		"nobody":                      {func(p *quorum.Policy) { p.Approvers, p.Threshold = nil, 0 }, ""},
		"too many":                    {func(p *quorum.Policy) { p.Approvers = make([]quorum.Approver, quorum.MaxApprovers+1) }, quorum.ReasonPolicy},
	} {
		p := policy()
		tc.change(&p)
		require.Equal(t, tc.want, quorum.ReasonOf(p.Validate()), name)
	}
}

func TestVerifyApprovalsTellsWhoIsThere(t *testing.T) {
	st := statementOf(treeOf(t, 3))
	a, b := sign(t, alice, "alice", st), sign(t, bob, "bob", st)

	ids, err := quorum.VerifyApprovals(policy(), st, nil, now)
	require.Equal(t, quorum.ReasonTooFewApprovers, quorum.ReasonOf(err))
	require.Empty(t, ids)

	ids, err = quorum.VerifyApprovals(policy(), st, []quorum.Approval{b}, now)
	require.Equal(t, quorum.ReasonTooFewApprovers, quorum.ReasonOf(err))
	require.Equal(t, []string{"bob"}, ids)

	ids, err = quorum.VerifyApprovals(policy(), st, []quorum.Approval{b, a}, now)
	require.NoError(t, err)
	require.Equal(t, []string{"bob", "alice"}, ids)
}

func TestVerifyApprovalIsTheSameCheckWithoutTheCount(t *testing.T) {
	st := statementOf(treeOf(t, 3))
	a := sign(t, alice, "alice", st)
	require.NoError(t, quorum.VerifyApproval(policy(), st, a, now))
	require.Equal(t, quorum.ReasonExpired, quorum.ReasonOf(quorum.VerifyApproval(policy(), st, a, expiry)))
	a.ApproverID = "bob"
	require.Equal(t, quorum.ReasonUnknownKey, quorum.ReasonOf(quorum.VerifyApproval(policy(), st, a, now)))
	a.KeyID = nil
	require.Equal(t, quorum.ReasonBadSignature, quorum.ReasonOf(quorum.VerifyApproval(policy(), st, a, now)))
	open := quorum.Policy{TrustDomain: domain, AllowUnapproved: true}
	require.Equal(t, quorum.ReasonUnknownApprover, quorum.ReasonOf(quorum.VerifyApproval(open, st, a, now)))
}

// TestSignatureHasOneForm: (R, S+L) satisfies the equation of (R, S) and must
// be refused all the same, as must every flipped bit.
func TestSignatureHasOneForm(t *testing.T) {
	st := statementOf(treeOf(t, 3))
	good := sign(t, alice, "alice", st)
	bent := good
	bent.Signature = addOrder(good.Signature)
	require.NotEqual(t, good.Signature, bent.Signature)
	require.Equal(t, quorum.ReasonBadSignature, quorum.ReasonOf(quorum.VerifyApproval(policy(), st, bent, now)))
	for bit := range 512 {
		flipped := good
		flipped.Signature[bit/8] ^= 1 << (bit % 8)
		require.Equal(t, quorum.ReasonBadSignature, quorum.ReasonOf(quorum.VerifyApproval(policy(), st, flipped, now)), "bit %d", bit)
	}
}

func TestSignatureCoversTheWholeStatement(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := statementOf(treeOf(t, 3))
		a := sign(t, alice, "alice", st)
		p := policy()
		switch rapid.IntRange(0, 4).Draw(rt, "field") {
		case 0:
			st.TrustDomain += rapid.StringMatching(`[a-z]{1,5}`).Draw(rt, "domain")
			p.TrustDomain = st.TrustDomain
		case 1:
			st.BatchID = rapid.StringMatching(`[A-Za-z0-9._:-]{1,20}`).Filter(func(s string) bool { return s != "cmb_1" }).Draw(rt, "batch")
		case 2:
			st.Root[rapid.IntRange(0, 31).Draw(rt, "byte")] ^= rapid.ByteRange(1, 255).Draw(rt, "mask")
		case 3:
			st.LeafCount += rapid.Uint64Range(1, 1000).Draw(rt, "count")
		case 4:
			st.ExpiresAt += rapid.Int64Range(1, 1_000_000).Draw(rt, "expiry")
		}
		require.Equal(rt, quorum.ReasonBadSignature, quorum.ReasonOf(quorum.VerifyApproval(p, st, a, now)))
	})
}

// TestSignatureOfOtherBytes: an approver's signature over something that is no
// statement (the bare root, a leaf) is worth nothing.
func TestSignatureOfOtherBytes(t *testing.T) {
	tree := treeOf(t, 1)
	st, root := statementOf(tree), tree.Root()
	for _, message := range [][]byte{root[:], tree.Leaf(0).Encode(), {}} {
		a := quorum.Approval{ApproverID: "alice", Signature: quorum.Signature(ed25519.Sign(alice, message))}
		require.Equal(t, quorum.ReasonBadSignature, quorum.ReasonOf(quorum.VerifyApproval(policy(), st, a, now)))
	}
}

func TestSignRefuses(t *testing.T) {
	st := statementOf(treeOf(t, 1))
	_, err := quorum.Sign(alice, "al ice", st)
	require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(err))
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	_, err = quorum.Sign(other, "alice", st)
	require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(err))
	for _, change := range []func(*quorum.Statement){
		func(s *quorum.Statement) { s.TrustDomain = "" },
		func(s *quorum.Statement) { s.BatchID = "a/b" },
		func(s *quorum.Statement) { s.LeafCount = 0 },
		func(s *quorum.Statement) { s.LeafCount = quorum.MaxLeaves + 1 },
		func(s *quorum.Statement) { s.ExpiresAt = 0 },
		func(s *quorum.Statement) { s.ExpiresAt = 1 << 53 },
	} {
		bad := st
		change(&bad)
		_, err = quorum.Sign(alice, "alice", bad)
		require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(err))
	}
}

func TestExpiryIsTheFirstInvalidMoment(t *testing.T) {
	c := approved(t, 3, 0)
	_, err := quorum.Verify(policy(), c, expiry.Add(-time.Millisecond))
	require.NoError(t, err)
	_, err = quorum.Verify(policy(), c, expiry)
	require.Equal(t, quorum.ReasonExpired, quorum.ReasonOf(err))
}

func TestCommandSurvivesJSON(t *testing.T) {
	for i := range uint64(7) {
		c := approved(t, 7, i)
		if i == 2 {
			c.Payload = []byte{} // an empty payload stays a payload
		}
		data, err := json.Marshal(c)
		require.NoError(t, err)
		var back quorum.Command
		require.NoError(t, quorum.DecodeStrict(data, &back))
		require.Equal(t, c, back)
	}
}
