package quorum

import (
	"errors"
	"fmt"
)

// Reason says why something was refused. The values are part of the wire
// format and of the test vectors.
type Reason string

// The reasons. Those marked (daemon) are given by a daemon, never by Verify.
const (
	ReasonMalformed        Reason = "malformed"        // a field is missing, too long or has characters it must not have
	ReasonPolicy           Reason = "policy"           // the verifier's own policy contradicts itself
	ReasonWeakKey          Reason = "weakKey"          // the policy holds a low-order, non-canonical or impossible key
	ReasonRepeatedKey      Reason = "repeatedKey"      // the policy gives one key to two approvers
	ReasonUnapproved       Reason = "unapproved"       // the policy has no approvers and does not allow that
	ReasonWrongDomain      Reason = "wrongDomain"      // signed for another trust domain
	ReasonExpired          Reason = "expired"          // the statement's time is over
	ReasonTooFewApprovers  Reason = "tooFewApprovers"  // valid approvals, but below the threshold
	ReasonRepeatedApprover Reason = "repeatedApprover" // one approver twice in the set
	ReasonUnknownApprover  Reason = "unknownApprover"  // no such approver in the policy
	ReasonUnknownKey       Reason = "unknownKey"       // the approver has no such key
	ReasonRevokedKey       Reason = "revokedKey"       // the key was revoked
	ReasonBadSignature     Reason = "badSignature"     // the signature does not fit statement and key
	ReasonWrongSize        Reason = "wrongSize"        // the proof is for a tree of another size
	ReasonWrongIndex       Reason = "wrongIndex"       // the index lies outside the tree
	ReasonBadProof         Reason = "badProof"         // the proof does not lead from this leaf at this index to the root
	ReasonPayloadMissing   Reason = "payloadMissing"   // the leaf is bound to a payload and none came
	ReasonPayloadMismatch  Reason = "payloadMismatch"  // the leaf is bound to another payload
	ReasonEmptyBatch       Reason = "emptyBatch"       // a batch without leaves
	ReasonTooManyLeaves    Reason = "tooManyLeaves"    // more than MaxLeaves
	ReasonDuplicateLeaf    Reason = "duplicateLeaf"    // the same leaf twice in a batch
	ReasonRootMismatch     Reason = "rootMismatch"     // the root in a file is not the root of its leaves
	ReasonKindNotAllowed   Reason = "kindNotAllowed"   // (daemon) the kind is not on the daemon's list
	ReasonReplayed         Reason = "replayed"         // (daemon) the leaf was used, with another payload
	ReasonTooLarge         Reason = "tooLarge"         // (daemon) the request is over the size limit
	ReasonUnauthenticated  Reason = "unauthenticated"  // (daemon) the bearer token is missing or wrong
	ReasonUnavailable      Reason = "unavailable"      // (daemon) it cannot take commands now; never a final answer
)

// Refusal is the error of every check here. Message is one line for people; it
// quotes input in escaped form, so it is safe to print on a terminal.
type Refusal struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Message }

// ReasonOf is the reason of the *Refusal in err, or "" when there is none.
func ReasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func refuse(reason Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
