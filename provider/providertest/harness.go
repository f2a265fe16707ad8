package providertest

import (
	"testing"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
)

// Harness says which kind is tested, and how.
type Harness struct {
	// Start begins with an empty account at a backend of its own; it ends with t.
	Start func(t *testing.T) Backend
	Kind  string
	// Spec is what is created; nil is the manifest's first example.
	Spec cloud.Spec
	// ParentSpec is what the parent is created with; nil is its first example.
	ParentSpec cloud.Spec
	// Updates are merge patches, applied one after another. Together they must
	// name every updatable field, or NotUpdated must say why not.
	Updates    []cloud.Spec
	NotUpdated map[string]string
	// Siblings are created in the same parent before the subject (a pool's
	// database and user).
	Siblings []Sibling
	// Async: a create may be accepted by an answer that holds no object.
	Async bool
	// Networks, Instances and Secrets are what the spec refers to.
	Networks  map[string]cloud.NetworkRef
	Instances map[string]string
	Secrets   map[string]cloud.Secret
	// Vary changes a spec so that many can exist side by side; nil changes the
	// first identity field, or nothing.
	Vary func(spec cloud.Spec, i int) cloud.Spec
	// Many is how many are created for the paging check; 0 is 210, and a negative
	// number leaves the check out (say why in the test).
	Many int
	// Patience bounds a convergence; 0 is 20 s.
	Patience time.Duration
}

// Sibling is another resource that the subject needs.
type Sibling struct {
	Kind string
	Spec cloud.Spec
}

// Backend is the cloud's API as the suite steers it: a simulator or a server of
// the test's own.
type Backend interface {
	Provider() cloud.Provider
	Access() cloud.AccountAccess
	// Objects counts the objects of the kind under test that exist, visible or not,
	// ours and others', except what the account had from the start.
	Objects(t *testing.T) int
	// Writes counts the requests other than reads that arrived, refused ones included.
	Writes(t *testing.T) int
	// Plan makes the next requests misbehave; Clear forgets all plans.
	Plan(t *testing.T, f Fault)
	Clear(t *testing.T)
	// Refusal is the body of a refusal in the cloud's own form, saying words.
	Refusal(words string) string
}

// Call says which requests a fault is for.
type Call string

// The calls.
const (
	// Creates is the one request that makes an object of the kind.
	Creates Call = "create"
	// Reads is every request that changes nothing.
	Reads Call = "read"
	// Everything is every request.
	Everything Call = "everything"
)

// Fault is one planned misbehaviour.
type Fault struct {
	On    Call
	Times int // 0 is always
	// One of these:
	Drop    bool          // do it, then close the connection without an answer
	Lost    int           // do it, then answer this status
	Late    time.Duration // do it, but keep the new object out of reads for so long
	Refuse  int           // answer this status with Body and Headers, and do nothing
	Body    string        // as it is, JSON or not
	Headers map[string]string
}
