package quorum

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"time"
)

// Approval is one approver's signature over a Statement.
type Approval struct {
	ApproverID string `json:"approverId"`
	// KeyID is PublicKey.ID of the signing key; without it the approver's only
	// usable key is meant.
	KeyID     *Hash     `json:"keyId,omitempty"`
	Signature Signature `json:"signature"`
}

// Sign approves a statement. The signer is an ed25519.PrivateKey or anything
// that signs like one, such as a hardware token.
func Sign(signer crypto.Signer, approverID string, st Statement) (Approval, error) {
	if err := st.Validate(); err != nil {
		return Approval{}, err
	}
	if !validApproverID(approverID) {
		return Approval{}, refuse(ReasonMalformed, "an approver id has 1 to 128 letters, digits or ._:@-")
	}
	public, ok := signer.Public().(ed25519.PublicKey)
	if !ok || len(public) != ed25519.PublicKeySize {
		return Approval{}, refuse(ReasonMalformed, "the key is not an Ed25519 key")
	}
	sig, err := signer.Sign(rand.Reader, st.Encode(), crypto.Hash(0))
	if err != nil {
		return Approval{}, fmt.Errorf("sign: %w", err)
	}
	if len(sig) != ed25519.SignatureSize || !ed25519.Verify(public, st.Encode(), sig) {
		return Approval{}, refuse(ReasonBadSignature, "the signer's signature does not verify")
	}
	id := PublicKey(public).ID()
	return Approval{ApproverID: approverID, KeyID: &id, Signature: Signature(sig)}, nil
}

// VerifyApprovals tells who approved the statement. It refuses the whole set
// when any part of it is wrong; a set that is right but too small is refused
// with tooFewApprovers, and the approvers so far are returned with it.
func VerifyApprovals(p Policy, st Statement, approvals []Approval, now time.Time) ([]string, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := st.check(p, now); err != nil {
		return nil, err
	}
	if !p.RequiresApproval() && !p.AllowUnapproved {
		return nil, refuse(ReasonUnapproved, "no approvers are configured, and unapproved commands are not allowed")
	}
	seen := make(map[string]bool, len(approvals))
	for _, a := range approvals {
		if seen[a.ApproverID] {
			return nil, refuse(ReasonRepeatedApprover, "%+q approved twice", a.ApproverID)
		}
		seen[a.ApproverID] = true
	}
	ids := make([]string, 0, len(approvals))
	for _, a := range approvals {
		if err := verifySignature(p, st, a); err != nil {
			return nil, err
		}
		ids = append(ids, a.ApproverID)
	}
	if len(ids) < p.Threshold {
		return ids, refuse(ReasonTooFewApprovers, "%d of %d approvals", len(ids), p.Threshold)
	}
	return ids, nil
}

// VerifyApproval checks one approval, as when it is handed in. It is
// VerifyApprovals without the count.
func VerifyApproval(p Policy, st Statement, a Approval, now time.Time) error {
	if !p.RequiresApproval() {
		return refuse(ReasonUnknownApprover, "no approvers are configured")
	}
	_, err := VerifyApprovals(p, st, []Approval{a}, now)
	if ReasonOf(err) == ReasonTooFewApprovers {
		return nil
	}
	return err
}

// verifySignature relies on crypto/ed25519 for the equation (RFC 8032 without
// the cofactor, R compared as bytes) and for refusing S >= L, so a signature
// has one form only.
func verifySignature(p Policy, st Statement, a Approval) error {
	approver, err := p.find(a)
	if err != nil {
		return err
	}
	if !ed25519.Verify(approver.PublicKey[:], st.Encode(), a.Signature[:]) {
		return refuse(ReasonBadSignature, "the signature of %s does not fit this batch", a.ApproverID)
	}
	return nil
}
