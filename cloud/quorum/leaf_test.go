package quorum_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

func TestLeafEncodingIsTheDocumentedOne(t *testing.T) {
	leaf := quorum.Leaf{Subject: "crs_1", Kind: "delete"}
	want := "\x00\x00\x00\x1dbetter-compute/quorum/leaf/v1" + "\x00\x00\x00\x05crs_1" + "\x00\x00\x00\x06delete"
	require.Equal(t, want+"\x00", string(leaf.Encode()))
	digest := sha256.Sum256([]byte("payload"))
	bound := leaf.Bind([]byte("payload"))
	require.Equal(t, want+"\x01"+string(digest[:]), string(bound.Encode()))
	require.Nil(t, leaf.PayloadDigest, "Bind changes a copy")
	require.Equal(t, quorum.Hash(sha256.Sum256([]byte("\x00"+want+"\x00"))), leaf.Hash())
}

// decodeLeaf reads the documented layout back, independently of the encoder.
func decodeLeaf(b []byte) (l quorum.Leaf, err error) {
	field := func() string {
		if err != nil || len(b) < 4 || uint32(len(b)-4) < binary.BigEndian.Uint32(b) {
			err = errors.New("short")
			return ""
		}
		n := binary.BigEndian.Uint32(b)
		text := string(b[4 : 4+n])
		b = b[4+n:]
		return text
	}
	if tag := field(); tag != "better-compute/quorum/leaf/v1" {
		return l, errors.New("another tag")
	}
	l.Subject, l.Kind = field(), field()
	switch {
	case err != nil:
		return l, err
	case len(b) == 1 && b[0] == 0:
		return l, nil
	case len(b) == 33 && b[0] == 1:
		digest := quorum.Hash(b[1:])
		l.PayloadDigest = &digest
		return l, nil
	}
	return l, errors.New("bad end")
}

func drawLeaf(t *rapid.T, label string) quorum.Leaf {
	l := quorum.Leaf{
		Subject: rapid.StringN(1, 100, quorum.MaxSubjectBytes).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }).Draw(t, label+"subject"),
		Kind:    rapid.StringMatching(`[A-Za-z0-9._:/-]{1,64}`).Draw(t, label+"kind"),
	}
	if rapid.Bool().Draw(t, label+"bound") {
		return l.Bind(rapid.SliceOf(rapid.Byte()).Draw(t, label+"payload"))
	}
	return l
}

func TestLeafEncodingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaf := drawLeaf(t, "")
		require.NoError(t, leaf.Validate())
		back, err := decodeLeaf(leaf.Encode())
		require.NoError(t, err)
		require.Equal(t, leaf, back)
	})
}

func TestLeafJSONLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaf := drawLeaf(t, "")
		data, err := json.Marshal(leaf)
		require.NoError(t, err)
		var back quorum.Leaf
		require.NoError(t, quorum.DecodeStrict(data, &back))
		require.Equal(t, leaf.Hash(), back.Hash())
	})
}

func TestLeafLimits(t *testing.T) {
	for name, leaf := range map[string]quorum.Leaf{
		"no subject":        {Kind: "k"},
		"long subject":      {Subject: strings.Repeat("s", quorum.MaxSubjectBytes+1), Kind: "k"},
		"subject not UTF-8": {Subject: "a\xff", Kind: "k"},
		"NUL in subject":    {Subject: "a\x00b", Kind: "k"},
		"no kind":           {Subject: "s"},
		"long kind":         {Subject: "s", Kind: strings.Repeat("k", quorum.MaxKindBytes+1)},
		"space in kind":     {Subject: "s", Kind: "a b"},
		"escape in kind":    {Subject: "s", Kind: "a\x1b"},
		"letter not ASCII":  {Subject: "s", Kind: "délete"},
	} {
		require.Equal(t, quorum.ReasonMalformed, quorum.ReasonOf(leaf.Validate()), name)
	}
	require.NoError(t, quorum.Leaf{Subject: strings.Repeat("s", quorum.MaxSubjectBytes), Kind: strings.Repeat("k", quorum.MaxKindBytes)}.Validate())
}

func TestTextFormsHaveOneSpelling(t *testing.T) {
	var h quorum.Hash
	require.NoError(t, h.UnmarshalText([]byte(strings.Repeat("ab", 32))))
	require.Error(t, h.UnmarshalText([]byte(strings.Repeat("AB", 32))))
	require.Error(t, h.UnmarshalText([]byte(strings.Repeat("ab", 31))))
	require.Error(t, h.UnmarshalText([]byte(strings.Repeat("zz", 32))))

	text, err := public(alice).MarshalText()
	require.NoError(t, err)
	var k quorum.PublicKey
	require.NoError(t, k.UnmarshalText(text))
	require.Equal(t, public(alice), k)
	require.NoError(t, k.UnmarshalText([]byte(quorum.Hash(public(bob)).String())))
	require.Equal(t, public(bob), k)
	require.Error(t, k.UnmarshalText(text[:43]), "padding missing")
	require.Error(t, k.UnmarshalText([]byte(string(text[:20])+"\n"+string(text[20:]))), "line break")
	// The last character holds two spare bits; only zero bits are accepted.
	spare := text
	spare[42]++
	require.Error(t, k.UnmarshalText(spare))
}
