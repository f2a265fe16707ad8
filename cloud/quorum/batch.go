package quorum

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The values of "format" in files that people carry between machines.
const (
	FormatBatch    = "better-compute/batch/v1"
	FormatApproval = "better-compute/approval/v1"
	FormatKey      = "better-compute/approver-key/v1"
)

// Batch is the file that an approver reads and signs.
type Batch struct {
	Format      string `json:"format"`
	TrustDomain string `json:"trustDomain"`
	BatchID     string `json:"batchId"`
	// ExpiresAt is in milliseconds since 1970.
	ExpiresAt int64 `json:"expiresAt"`
	// Root is for people and tools to compare. Open computes it anew.
	Root   *Hash       `json:"root,omitempty"`
	Leaves []BatchLeaf `json:"leaves"`
}

// BatchLeaf is a leaf with, optionally, the payload it is bound to, so that an
// approver can read it.
type BatchLeaf struct {
	Leaf
	Payload []byte `json:"payload,omitzero"`
}

// NewBatch makes the file for leaves in this order.
func NewBatch(domain, id string, expires time.Time, leaves []BatchLeaf) (Batch, error) {
	b := Batch{Format: FormatBatch, TrustDomain: domain, BatchID: id, ExpiresAt: expires.UnixMilli(), Leaves: leaves}
	st, _, err := b.Open()
	if err != nil {
		return Batch{}, err
	}
	b.Root = &st.Root
	return b, nil
}

// Open derives the statement to sign from the leaves alone. A root in the file
// that differs is refused (rootMismatch), as is a payload that its leaf does
// not bind: it would be shown to the approver and could be swapped afterwards.
func (b Batch) Open() (Statement, *Tree, error) {
	if b.Format != FormatBatch {
		return Statement{}, nil, refuse(ReasonMalformed, "format %+q is not %q", b.Format, FormatBatch)
	}
	leaves := make([]Leaf, len(b.Leaves))
	for i, l := range b.Leaves {
		if l.Payload != nil && l.PayloadDigest == nil {
			return Statement{}, nil, refuse(ReasonPayloadMismatch, "command %d shows a payload that it is not bound to", i)
		}
		if l.Payload != nil {
			if err := l.checkPayload(l.Payload); err != nil {
				return Statement{}, nil, refuse(ReasonOf(err), "command %d: the payload shown is not the one it is bound to", i)
			}
		}
		leaves[i] = l.Leaf
	}
	tree, err := NewTree(leaves)
	if err != nil {
		return Statement{}, nil, err
	}
	if b.Root != nil && *b.Root != tree.Root() {
		return Statement{}, nil, refuse(ReasonRootMismatch, "the root in the file is not the root of its commands")
	}
	st := Statement{TrustDomain: b.TrustDomain, BatchID: b.BatchID, Root: tree.Root(), LeafCount: tree.Size(), ExpiresAt: b.ExpiresAt}
	return st, tree, st.Validate()
}

// ApprovalFile is what offline signing writes and what is handed in.
type ApprovalFile struct {
	Format    string    `json:"format"`
	Statement Statement `json:"statement"`
	Approval  Approval  `json:"approval"`
}

// DecodeBatch reads a batch file; it does not check what Open checks.
func DecodeBatch(data []byte) (Batch, error) {
	var b Batch
	return b, DecodeStrict(data, &b)
}

// DecodeApproval reads an approval file.
func DecodeApproval(data []byte) (ApprovalFile, error) {
	var f ApprovalFile
	if err := DecodeStrict(data, &f); err != nil {
		return f, err
	}
	if f.Format != FormatApproval {
		return f, refuse(ReasonMalformed, "format %+q is not %q", f.Format, FormatApproval)
	}
	return f, nil
}

// DecodePolicy reads a policy. Fields of other readers are let pass, so that a
// daemon's own file is a policy too.
func DecodePolicy(data []byte) (Policy, error) {
	var p Policy
	if err := json.Unmarshal(data, &p); err != nil {
		return p, refuse(ReasonPolicy, "%s", jsonTrouble(err))
	}
	return p, p.Validate()
}

// DecodeStrict reads one JSON value and refuses (malformed) unknown fields and
// anything behind it.
func DecodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuse(ReasonMalformed, "%s", jsonTrouble(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse(ReasonMalformed, "more follows the JSON value")
	}
	return nil
}

// jsonTrouble keeps characters of the input, which the decoder may quote raw,
// away from terminals.
func jsonTrouble(err error) string {
	quoted := fmt.Sprintf("%+q", err.Error())
	return quoted[1 : len(quoted)-1]
}
