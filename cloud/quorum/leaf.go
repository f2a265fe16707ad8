package quorum

import (
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"github.com/transparency-dev/merkle/rfc6962"
)

// Limits of what a batch holds.
const (
	MaxLeaves       = 10_000  // leaves of a batch
	MaxSubjectBytes = 512     // bytes of a subject
	MaxKindBytes    = 64      // characters of a kind
	MaxPayloadBytes = 1 << 20 // bytes of a payload
)

const tagLeaf = "better-compute/quorum/leaf/v1"

// Leaf is one command as approvers see it.
type Leaf struct {
	// Subject is what the command acts on: UTF-8 without NUL, 1 to 512 bytes.
	Subject string `json:"subject"`
	// Kind is what is done to it: 1 to 64 of letters, digits and ._:/-
	Kind string `json:"kind"`
	// PayloadDigest binds the leaf to the payload with this SHA-256. Without it
	// the approval covers subject and kind, with any payload or none.
	PayloadDigest *Hash `json:"payloadDigest,omitempty"`
}

// Bind returns the leaf bound to exactly these payload bytes; an empty payload
// can be bound too.
func (l Leaf) Bind(payload []byte) Leaf {
	digest := Hash(sha256.Sum256(payload))
	l.PayloadDigest = &digest
	return l
}

// Validate refuses (malformed) a leaf outside the limits.
func (l Leaf) Validate() error {
	switch {
	case l.Subject == "" || len(l.Subject) > MaxSubjectBytes:
		return refuse(ReasonMalformed, "a subject has 1 to %d bytes", MaxSubjectBytes)
	case !utf8.ValidString(l.Subject) || strings.ContainsRune(l.Subject, 0):
		return refuse(ReasonMalformed, "a subject is UTF-8 without NUL")
	case !plain(l.Kind, MaxKindBytes, "._:/-"):
		return refuse(ReasonMalformed, "a kind has 1 to %d letters, digits or ._:/-", MaxKindBytes)
	}
	return nil
}

// Encode gives the canonical bytes: tag, subject and kind each behind its
// length (four bytes, big-endian), then 0x00, or 0x01 and the 32 bytes of the
// payload digest.
func (l Leaf) Encode() []byte {
	b := make([]byte, 0, 4*3+len(tagLeaf)+len(l.Subject)+len(l.Kind)+1+len(Hash{}))
	b = appendField(b, tagLeaf)
	b = appendField(b, l.Subject)
	b = appendField(b, l.Kind)
	if l.PayloadDigest == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	return append(b, l.PayloadDigest[:]...)
}

// Hash is the RFC 6962 leaf hash of the canonical bytes: SHA-256 over 0x00 and
// Encode. With the batch id it names one command for ever.
func (l Leaf) Hash() Hash { return Hash(rfc6962.DefaultHasher.HashLeaf(l.Encode())) }

// checkPayload holds a payload against the leaf; nil means that none came.
func (l Leaf) checkPayload(payload []byte) error {
	switch {
	case len(payload) > MaxPayloadBytes:
		return refuse(ReasonMalformed, "a payload has at most %d bytes", MaxPayloadBytes)
	case l.PayloadDigest == nil:
		return nil
	case payload == nil:
		return refuse(ReasonPayloadMissing, "the leaf is bound to a payload and none came")
	case Hash(sha256.Sum256(payload)) != *l.PayloadDigest:
		return refuse(ReasonPayloadMismatch, "the payload is not the one that was approved")
	}
	return nil
}
