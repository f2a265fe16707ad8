package quorum

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Hash is a SHA-256 value; its text form is 64 lower-case hex digits.
type Hash [32]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText gives the text form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText accepts the text form only: one value, one spelling.
func (h *Hash) UnmarshalText(text []byte) error {
	var v Hash
	if len(text) != hex.EncodedLen(len(v)) {
		return fmt.Errorf("a hash has 64 hex digits, not %d characters", len(text))
	}
	if _, err := hex.Decode(v[:], text); err != nil || v.String() != string(text) {
		return errors.New("a hash is written in lower-case hex digits")
	}
	*h = v
	return nil
}

// PublicKey is an Ed25519 public key as RFC 8032 encodes it; its text form is
// padded standard base64 (44 characters). Reading also takes 64 hex digits.
// Holding one says nothing about its quality: Check does.
type PublicKey [32]byte

func (k PublicKey) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// MarshalText gives the text form.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads base64 or hex.
func (k *PublicKey) UnmarshalText(text []byte) error {
	if len(text) == hex.EncodedLen(len(k)) {
		var v PublicKey
		if _, err := hex.Decode(v[:], text); err != nil {
			return errors.New("a public key is 32 bytes in base64 or hex")
		}
		*k = v
		return nil
	}
	return decodeBase64(k[:], text, "public key")
}

// Signature is an Ed25519 signature; its text form is padded standard base64
// (88 characters).
type Signature [64]byte

// MarshalText gives the text form.
func (s Signature) MarshalText() ([]byte, error) {
	return []byte(base64.StdEncoding.EncodeToString(s[:])), nil
}

// UnmarshalText accepts the text form only.
func (s *Signature) UnmarshalText(text []byte) error { return decodeBase64(s[:], text, "signature") }

// decodeBase64 fills dst exactly. Strict decoding refuses set padding bits and
// the length check refuses line breaks, which the decoder would skip.
func decodeBase64(dst, text []byte, what string) error {
	raw, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil || len(raw) != len(dst) || len(text) != base64.StdEncoding.EncodedLen(len(dst)) {
		return fmt.Errorf("a %s is %d bytes in padded base64", what, len(dst))
	}
	copy(dst, raw)
	return nil
}

// appendField adds a variable part: its length as four bytes, big-endian, and
// its bytes. Callers have bounded the length long before it could overflow.
func appendField(b []byte, field string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(field)))
	return append(b, field...)
}

// plain tells whether text has 1 to limit characters, each an ASCII letter, a
// digit or one of marks.
func plain(text string, limit int, marks string) bool {
	if text == "" || len(text) > limit {
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !contains(marks, c) {
			return false
		}
	}
	return true
}

func contains(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}
