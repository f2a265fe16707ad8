package quorum

import (
	"encoding/binary"
	"time"
)

const tagStatement = "better-compute/quorum/statement/v1"

// Statement is what an approver signs: this batch, for this trust domain,
// until then.
type Statement struct {
	// TrustDomain names the deployment whose daemons may obey: 1 to 255 of
	// letters, digits and ._:/-
	TrustDomain string `json:"trustDomain"`
	// BatchID is the control plane's id: 1 to 128 of letters, digits and ._:-
	BatchID string `json:"batchId"`
	// Root is the Merkle root over the batch's leaves.
	Root Hash `json:"root"`
	// LeafCount is the number of leaves, 1 to MaxLeaves.
	LeafCount uint64 `json:"leafCount"`
	// ExpiresAt is the first moment at which the statement no longer holds, in
	// milliseconds since 1970 UTC.
	ExpiresAt int64 `json:"expiresAt"`
}

// Validate refuses (malformed) a statement outside the limits.
func (s Statement) Validate() error {
	switch {
	case !validDomain(s.TrustDomain):
		return refuse(ReasonMalformed, "a trust domain has 1 to 255 letters, digits or ._:/-")
	case !plain(s.BatchID, 128, "._:-"):
		return refuse(ReasonMalformed, "a batch id has 1 to 128 letters, digits or ._:-")
	case s.LeafCount == 0 || s.LeafCount > MaxLeaves:
		return refuse(ReasonMalformed, "a batch has 1 to %d commands", MaxLeaves)
	case s.ExpiresAt <= 0 || s.ExpiresAt > maxMillis:
		return refuse(ReasonMalformed, "an expiry is a time in milliseconds since 1970")
	}
	return nil
}

// maxMillis is the largest time that every JSON reader keeps exactly (2^53-1).
const maxMillis = 1<<53 - 1

func validDomain(domain string) bool { return plain(domain, 255, "._:/-") }

// Encode gives the bytes that are signed: tag, trust domain and batch id each
// behind its length (four bytes, big-endian), the 32 bytes of the root, leaf
// count and expiry as eight bytes each, big-endian.
func (s Statement) Encode() []byte {
	b := make([]byte, 0, 4*3+len(tagStatement)+len(s.TrustDomain)+len(s.BatchID)+len(s.Root)+8+8)
	b = appendField(b, tagStatement)
	b = appendField(b, s.TrustDomain)
	b = appendField(b, s.BatchID)
	b = append(b, s.Root[:]...)
	b = binary.BigEndian.AppendUint64(b, s.LeafCount)
	return binary.BigEndian.AppendUint64(b, uint64(s.ExpiresAt))
}

// Expired tells whether the statement no longer holds at now.
func (s Statement) Expired(now time.Time) bool { return now.UnixMilli() >= s.ExpiresAt }

// check holds the statement against a policy's domain and the time.
func (s Statement) check(p Policy, now time.Time) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.TrustDomain != p.TrustDomain {
		return refuse(ReasonWrongDomain, "signed for %s, this is %s", s.TrustDomain, p.TrustDomain)
	}
	if s.Expired(now) {
		return refuse(ReasonExpired, "expired at %s", time.UnixMilli(s.ExpiresAt).UTC().Format(time.RFC3339))
	}
	return nil
}
