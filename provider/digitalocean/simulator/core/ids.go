package core

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/google/uuid"
)

// DefaultDroplets are the Droplets that every account starts with.
var DefaultDroplets = []string{"acme", "shared", "gx"}

// namespace makes the simulator's deterministic ids differ from anybody else's.
var namespace = uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")

// NewUUID returns a random UUID.
func NewUUID() string { return uuid.NewString() }

// StableUUID returns the same UUID for the same words on every machine and in
// every run.
func StableUUID(words ...string) string {
	return uuid.NewSHA1(namespace, joined(words)).String()
}

// StableNumber returns the same positive 31-bit number for the same words,
// never below one hundred million, so that it looks like the API's own ids.
func StableNumber(words ...string) int {
	sum := sha256.Sum256(joined(words))
	return 100_000_000 + int(binary.BigEndian.Uint32(sum[:4])%1_900_000_000)
}

// joined keeps ("ab","c") and ("a","bc") apart.
func joined(words []string) []byte {
	var all []byte
	for _, word := range words {
		all = binary.AppendUvarint(all, uint64(len(word)))
		all = append(all, word...)
	}
	return all
}

// Secret returns a random secret of 2n hexadecimal digits after the prefix.
func Secret(prefix string, n int) string {
	raw := randomBytes(n)
	return prefix + hex.EncodeToString(raw)
}

// Blob returns n random bytes in base64, for certificates and keys that nothing
// reads.
func Blob(n int) string { return base64.StdEncoding.EncodeToString(randomBytes(n)) }

func randomBytes(n int) []byte {
	raw := make([]byte, n)
	// Read of crypto/rand never fails.
	_, _ = rand.Read(raw)
	return raw
}

// Time writes a time as the API does: RFC 3339 in UTC with whole seconds.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// VPCID is the id of the default VPC that the account of a token has in a
// region, so that a platform file can name it beforehand.
func VPCID(token, region string) string { return StableUUID("vpc", token, region) }

// DropletID is the id of a seeded Droplet of the account of a token.
func DropletID(token, name string) int { return StableNumber("droplet", token, name) }

// ProjectID is the id of the default project of the account of a token.
func ProjectID(token string) string { return StableUUID("project", token) }
