package activities_test

import (
	"context"
	"errors"
	"sync"

	"github.com/better-compute/cloud-resources/activities"
	"github.com/better-compute/cloud-resources/activities/fakecloud"
	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/schema/postgres"
)

// fault is what happens at one point of a life.
type fault string

const (
	failBefore fault = "fail before"
	failAfter  fault = "fail after"
	killBefore fault = "kill before"
	killAfter  fault = "kill after"
)

var everyFault = []fault{failBefore, failAfter, killBefore, killAfter}

// errKilled is what a killed worker panics with.
var errKilled = errors.New("the worker was killed")

// faults counts the points of a life, every provider call and every commit
// being one, and lets a fault happen at one of them. Unarmed it only counts.
type faults struct {
	mu    sync.Mutex
	armed bool
	at    int
	what  fault
	count int
	names []string
}

func (f *faults) arm(at int, what fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.at, f.what, f.count, f.names = true, at, what, 0, nil
}

func (f *faults) disarm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
}

func (f *faults) point(name string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return ""
	}
	f.count++
	f.names = append(f.names, name)
	if f.count == f.at {
		return f.what
	}
	return ""
}

// pass does what a point does, with its fault. lost is what a caller sees of a
// failure.
func (f *faults) pass(name string, do func() error, lost error) error {
	switch f.point(name) {
	case failBefore:
		return lost
	case killBefore:
		panic(errKilled)
	case failAfter:
		_ = do()
		return lost
	case killAfter:
		_ = do()
		panic(errKilled)
	}
	return do()
}

func (f *faults) hook(_ context.Context, c fakecloud.Call, do func() error) error {
	return f.pass(c.Verb, do, &cloud.ProviderError{Class: cloud.ClassUnknown, Op: c.Verb, Message: "connection reset"})
}

// faultyRecords lets commits fail.
type faultyRecords struct {
	*postgres.Store
	faults *faults
}

func (f faultyRecords) Hold(ctx context.Context, id string, fn func(ctx context.Context, h activities.Hold) error) error {
	return f.Store.Hold(ctx, id, func(ctx context.Context, h activities.Hold) error {
		return fn(ctx, faultyHold{h, f.faults})
	})
}

type faultyHold struct {
	activities.Hold
	faults *faults
}

func (h faultyHold) Commit(ctx context.Context, fn func(r *cloud.Resource) *cloud.Change) error {
	return h.faults.pass("commit", func() error { return h.Hold.Commit(ctx, fn) },
		cloud.Errorf(cloud.CodeUnavailable, "the database does not answer"))
}
