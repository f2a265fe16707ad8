package quorum

// Command is the body of POST /v1/commands: everything a daemon needs to judge
// one command by itself.
type Command struct {
	Statement Statement  `json:"statement"`
	Approvals []Approval `json:"approvals,omitempty"`
	Leaf      Leaf       `json:"leaf"`
	// Index is the leaf's place in the batch, TreeSize the batch's leaf count,
	// Proof the sibling hashes from the leaf upwards.
	Index    uint64 `json:"index"`
	TreeSize uint64 `json:"treeSize"`
	Proof    []Hash `json:"proof,omitempty"`
	// Payload is base64 in JSON. Absent (nil) and empty are different.
	Payload []byte `json:"payload,omitzero"`
}

// Command puts the leaf at index into its wire form.
func (t *Tree) Command(st Statement, approvals []Approval, index uint64, payload []byte) (Command, error) {
	path, err := t.Proof(index)
	if err != nil {
		return Command{}, err
	}
	return Command{
		Statement: st, Approvals: approvals, Leaf: t.Leaf(index),
		Index: index, TreeSize: t.Size(), Proof: path, Payload: payload,
	}, nil
}

// Outcome is how a command's one execution ended.
type Outcome string

// The outcomes. All three are final: the leaf is used up.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	// OutcomeInterrupted: it was started and nobody knows how far it came,
	// because the daemon died or the time limit passed. It is not started
	// again; a person has to look.
	OutcomeInterrupted Outcome = "interrupted"
)

// Answer is what a daemon replies to a command that it accepted, now or
// before.
type Answer struct {
	BatchID  string  `json:"batchId"`
	LeafHash Hash    `json:"leafHash"`
	Index    uint64  `json:"index"`
	Outcome  Outcome `json:"outcome"`
	// Message is one line about a command that did not succeed.
	Message string `json:"message,omitempty"`
	// Output is the last part of what the command printed.
	Output string `json:"output,omitempty"`
	// PayloadDigest is the SHA-256 of the payload that was used, if any came.
	PayloadDigest *Hash `json:"payloadDigest,omitempty"`
	// AcceptedAt and FinishedAt are milliseconds since 1970 by the daemon's
	// clock; for an interrupted command the latter is when that was noticed.
	AcceptedAt int64 `json:"acceptedAt"`
	FinishedAt int64 `json:"finishedAt"`
	// Replayed says that the leaf had been used before and this is its record.
	Replayed bool `json:"replayed"`
}

// ErrorBody is the JSON of every answer that is not an Answer.
type ErrorBody struct {
	Error Refusal `json:"error"`
}
