package quorum

// MaxApprovers bounds the approvers of a policy, revoked keys included.
const MaxApprovers = 64

// Approver is one key of one person.
type Approver struct {
	// ID is 1 to 128 of letters, digits and ._:@-
	ID        string    `json:"id"`
	PublicKey PublicKey `json:"publicKey"`
	// Revoked keeps the key known, so that its signatures are refused by name.
	Revoked bool `json:"revoked,omitempty"`
}

// Policy is what a verifier trusts. Each daemon has its own; it is never taken
// from a command.
type Policy struct {
	TrustDomain string `json:"trustDomain"`
	// Approvers may list an id again for a rotated key, as long as at most one
	// of its keys is not revoked.
	Approvers []Approver `json:"approvers,omitempty"`
	// Threshold is how many different approvers must sign: 1 up to the number
	// of approvers with a key that is not revoked; 0 without approvers.
	Threshold int `json:"threshold,omitempty"`
	// AllowUnapproved accepts commands without approvals. Only a policy without
	// approvers may say so.
	AllowUnapproved bool `json:"allowUnapproved,omitempty"`
}

// RequiresApproval tells whether commands wait for signatures.
func (p Policy) RequiresApproval() bool { return len(p.Approvers) > 0 }

// Validate refuses a policy that contradicts itself (policy), holds a key that
// nobody should trust (weakKey) or one key twice (repeatedKey).
func (p Policy) Validate() error {
	if !validDomain(p.TrustDomain) {
		return refuse(ReasonPolicy, "the trust domain has 1 to 255 letters, digits or ._:/-")
	}
	if len(p.Approvers) > MaxApprovers {
		return refuse(ReasonPolicy, "at most %d approvers", MaxApprovers)
	}
	if !p.RequiresApproval() {
		if p.Threshold != 0 {
			return refuse(ReasonPolicy, "a threshold of %d without approvers", p.Threshold)
		}
		return nil
	}
	if p.AllowUnapproved {
		return refuse(ReasonPolicy, "approvers are listed and unapproved commands allowed")
	}
	active, err := p.activeKeys()
	if err != nil {
		return err
	}
	if p.Threshold < 1 || p.Threshold > active {
		return refuse(ReasonPolicy, "the threshold is %d with %d usable approvers", p.Threshold, active)
	}
	return nil
}

// activeKeys checks every approver and counts those who can still sign.
func (p Policy) activeKeys() (int, error) {
	holder := make(map[PublicKey]string, len(p.Approvers))
	active := make(map[string]bool, len(p.Approvers))
	for _, a := range p.Approvers {
		if !validApproverID(a.ID) {
			return 0, refuse(ReasonPolicy, "an approver id has 1 to 128 letters, digits or ._:@-")
		}
		if err := a.PublicKey.Check(); err != nil {
			return 0, err
		}
		if other, ok := holder[a.PublicKey]; ok {
			return 0, refuse(ReasonRepeatedKey, "%s and %s have the same key", other, a.ID)
		}
		holder[a.PublicKey] = a.ID
		if a.Revoked {
			continue
		}
		if active[a.ID] {
			return 0, refuse(ReasonPolicy, "%s has two keys that are not revoked", a.ID)
		}
		active[a.ID] = true
	}
	return len(active), nil
}

func validApproverID(id string) bool { return plain(id, 128, "._:@-") }

// find returns the key that an approval names, or the usable one of the
// approver when it names none.
func (p Policy) find(a Approval) (Approver, error) {
	if !validApproverID(a.ApproverID) {
		return Approver{}, refuse(ReasonMalformed, "an approver id has 1 to 128 letters, digits or ._:@-")
	}
	known, revoked := false, false
	for _, candidate := range p.Approvers {
		if candidate.ID != a.ApproverID {
			continue
		}
		known = true
		switch {
		case a.KeyID != nil && candidate.PublicKey.ID() != *a.KeyID:
		case candidate.Revoked:
			revoked = true
		default:
			return candidate, nil
		}
	}
	switch {
	case !known:
		return Approver{}, refuse(ReasonUnknownApprover, "no approver %s", a.ApproverID)
	case revoked:
		return Approver{}, refuse(ReasonRevokedKey, "the key of %s was revoked", a.ApproverID)
	}
	return Approver{}, refuse(ReasonUnknownKey, "%s has no key %s", a.ApproverID, a.KeyID)
}
