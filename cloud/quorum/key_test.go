package quorum_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// lowOrderKeys are the encodings of the eight points of order 1, 2, 4 and 8.
var lowOrderKeys = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
}

// otherEncodings are encodings of points above that decoders which do not
// reduce would take for other keys: x = 0 with the sign bit, and y + p.
var otherEncodings = []string{
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

func keyFromHex(text string) (k quorum.PublicKey) {
	if _, err := hex.Decode(k[:], []byte(text)); err != nil {
		panic(err)
	}
	return k
}

// TestLowOrderKeysAcceptForgeries shows the attack that the check prevents:
// without any private key, crypto/ed25519 is made to accept a signature under
// each of these keys.
func TestLowOrderKeysAcceptForgeries(t *testing.T) {
	for _, text := range slices.Concat(lowOrderKeys, otherEncodings) {
		key := keyFromHex(text)
		require.True(t, forge(key), "%s: no forgery found", text)
		require.Equal(t, quorum.ReasonWeakKey, quorum.ReasonOf(key.Check()), text)
	}
}

// forge looks for a message that S = 0 and an R of low order fit. The equation
// then is R = -hA with h modulo 8, so few messages suffice.
func forge(key quorum.PublicKey) bool {
	for i := range 200 {
		for _, r := range lowOrderKeys {
			point := keyFromHex(r)
			sig := append(slices.Clone(point[:]), make([]byte, 32)...)
			if ed25519.Verify(key[:], fmt.Append(nil, i), sig) {
				return true
			}
		}
	}
	return false
}

func TestForgedApprovalIsRefused(t *testing.T) {
	identity := keyFromHex(lowOrderKeys[0])
	c := approved(t, 3, 0)
	forged := quorum.Approval{ApproverID: "eve"}
	copy(forged.Signature[:], identity[:])
	require.True(t, ed25519.Verify(identity[:], c.Statement.Encode(), forged.Signature[:]), "Go accepts it")
	p := quorum.Policy{TrustDomain: domain, Threshold: 1, Approvers: []quorum.Approver{{ID: "eve", PublicKey: identity}}}
	c.Approvals = []quorum.Approval{forged}
	_, err := quorum.Verify(p, c, now)
	require.Equal(t, quorum.ReasonWeakKey, quorum.ReasonOf(err))
}

// TestNonCanonicalEncodings covers all 19 values of y at or above the prime,
// with both signs.
func TestNonCanonicalEncodings(t *testing.T) {
	for low := 0xed; low <= 0xff; low++ {
		for _, high := range []byte{0x7f, 0xff} {
			key := keyFromHex("00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff00")
			key[0], key[31] = byte(low), high
			require.Equal(t, quorum.ReasonWeakKey, quorum.ReasonOf(key.Check()), "%x", key)
		}
	}
}

func TestGeneratedKeysPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")
		require.NoError(t, public(ed25519.NewKeyFromSeed(seed)).Check())
	})
}

// TestCheckKnowsTheCurve compares with an independent square root: y belongs
// to a point exactly when x^2 has a root.
func TestCheckKnowsTheCurve(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	d, _ := new(big.Int).SetString("37095705934669439343138083508754565189542113879843219016388785533085940283555", 10)
	points := 0
	for i := int64(2); i < 400; i++ {
		y := big.NewInt(i)
		square := new(big.Int).Mul(y, y)
		u := new(big.Int).Sub(square, big.NewInt(1))
		v := new(big.Int).Add(new(big.Int).Mul(d, square), big.NewInt(1))
		x := new(big.Int).Mul(u, new(big.Int).ModInverse(v.Mod(v, p), p))
		onCurve := new(big.Int).ModSqrt(x.Mod(x, p), p) != nil
		var key quorum.PublicKey
		y.FillBytes(key[:])
		slices.Reverse(key[:])
		require.Equal(t, onCurve, key.Check() == nil, "y = %d", i)
		if onCurve {
			points++
		}
	}
	require.InDelta(t, 199, points, 60, "about half of all y")
}
