// Package activities holds the side effects that workflows ask for: each file
// one activity, each activity load -> look -> act -> commit, safe to repeat at
// any point.
//
//	workflow --id--> activity --Hold--> Postgres: lock of the tree, fresh record
//	                    |----Find/Observe/Create/...----> provider
//	                    |----Commit (same connection)---> record, secrets, events
//	workflow <--Next----'
//
// Invariants
//   - Arguments and results are ids, generations and cloud.Next; a spec or a
//     secret never enters a workflow history.
//   - A create is sent only after the attempt is noted in the record, and
//     never while an earlier attempt may still show up (D3).
//   - Everything under one parent is serialised by Hold (D17). Commits run on
//     the connection that owns the lock, so an attempt that lost its worker or
//     its connection changes nothing any more.
//
// On failure: what a look or call says by class becomes either a commit (a
// refusal is an error state, a busy object is waited for) or a retry that the
// Temporal server makes after the delay that the answer asks for. Those
// retries are benign ApplicationErrors, returned unwrapped: a wrapped one
// loses its type and delay on the way.
package activities
