package quorum

import (
	"crypto/sha256"
	"math/big"
	"slices"
)

// The curve of Ed25519, -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo
// 2^255-19 (RFC 8032, 5.1).
var (
	fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	curveD     = curveConstant()
	lowOrderY  = lowOrder()
)

func curveConstant() *big.Int {
	d := new(big.Int).ModInverse(big.NewInt(121666), fieldPrime)
	d.Mul(d, big.NewInt(-121665))
	return d.Mod(d, fieldPrime)
}

// lowOrder lists the y coordinates of the eight points whose order divides 8:
// 1 (order 1), -1 (order 2), 0 (order 4, both signs) and two values of order
// 8, both signs each. A signature "by" such a key can be made without any
// private key.
func lowOrder() []*big.Int {
	eighth, _ := new(big.Int).SetString("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7", 16)
	return []*big.Int{
		new(big.Int),
		big.NewInt(1),
		new(big.Int).Sub(fieldPrime, big.NewInt(1)),
		eighth,
		new(big.Int).Sub(fieldPrime, eighth),
	}
}

// ID names the key: the SHA-256 of its 32 bytes.
func (k PublicKey) ID() Hash { return Hash(sha256.Sum256(k[:])) }

// Check refuses (weakKey) keys that Go's own verification lets pass or never
// matches: low-order points, encodings other than the canonical one, and
// encodings of no point at all.
func (k PublicKey) Check() error {
	raw := k
	raw[31] &= 0x7f // the top bit is the sign of x
	slices.Reverse(raw[:])
	y := new(big.Int).SetBytes(raw[:])
	if y.Cmp(fieldPrime) >= 0 {
		return refuse(ReasonWeakKey, "key %s is not encoded canonically", k)
	}
	// Both signs are refused for each y, which also covers the two
	// non-canonical encodings with x = 0 and the sign bit set.
	for _, low := range lowOrderY {
		if y.Cmp(low) == 0 {
			return refuse(ReasonWeakKey, "key %s is a point of low order", k)
		}
	}
	// x^2 = (y^2-1)/(dy^2+1) has a solution exactly when the product of the two
	// is a square; the divisor is never zero because -1/d is not a square.
	square := new(big.Int).Mul(y, y)
	above := new(big.Int).Sub(square, big.NewInt(1))
	below := square.Mul(square, curveD)
	below.Add(below, big.NewInt(1))
	product := above.Mul(above, below)
	if big.Jacobi(product.Mod(product, fieldPrime), fieldPrime) != 1 {
		return refuse(ReasonWeakKey, "key %s is no point of the curve", k)
	}
	return nil
}
