package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/better-compute/cloud-resources/cloud/quorum"
)

// Record is one line of the journal: an intent or a result.
type Record struct {
	// Seq counts from 1 without gaps.
	Seq  uint64 `json:"seq"`
	Type string `json:"type"`
	// At is milliseconds since 1970 by the daemon's clock.
	At       int64       `json:"at"`
	BatchID  string      `json:"batchId"`
	LeafHash quorum.Hash `json:"leafHash"`
	// Intent is set when Type is TypeIntent, Result when it is TypeResult.
	Intent *Intent `json:"intent,omitempty"`
	Result *Result `json:"result,omitempty"`
}

// The types of records.
const (
	TypeIntent = "intent"
	TypeResult = "result"
)

// Intent is the decision to run a command, with the evidence for it: anyone
// with the policy can verify the command again from this record. The payload
// itself, which may be confidential, is represented by its digest.
type Intent struct {
	Command       quorum.Command `json:"command"`
	PayloadDigest *quorum.Hash   `json:"payloadDigest,omitempty"`
	Approvers     []string       `json:"approvers,omitempty"`
	// RequestDigest recognises the same request when it comes again.
	RequestDigest quorum.Hash `json:"requestDigest"`
}

// Result is how the execution ended.
type Result struct {
	Outcome quorum.Outcome `json:"outcome"`
	Message string         `json:"message,omitempty"`
	Output  string         `json:"output,omitempty"`
}

// encodeLine gives the record's line and its chain value. A line is the chain
// value in hex, a space, the JSON and a line feed; the chain value is SHA-256
// over the previous one (32 zero bytes at the start) and the JSON.
func encodeLine(head quorum.Hash, r Record) ([]byte, quorum.Hash, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, head, err
	}
	next := chain(head, body)
	return fmt.Appendf(nil, "%s %s\n", next, body), next, nil
}

func chain(head quorum.Hash, body []byte) quorum.Hash {
	h := sha256.New()
	h.Write(head[:])
	h.Write(body)
	return quorum.Hash(h.Sum(nil))
}

// decodeLine reads one line without its line feed.
func decodeLine(head quorum.Hash, line []byte) (Record, quorum.Hash, error) {
	var r Record
	sum, body, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return r, head, errors.New("no chain value")
	}
	next := chain(head, body)
	if next.String() != string(sum) {
		return r, head, errors.New("the chain value does not fit: this record or one before it was changed")
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, head, err
	}
	if (r.Type == TypeIntent) != (r.Intent != nil) || (r.Type == TypeResult) != (r.Result != nil) || r.Intent == nil && r.Result == nil {
		return r, head, errors.New("neither an intent nor a result")
	}
	return r, next, nil
}
