// Package postgres keeps everything that was asked for and everything that was
// seen. It is the only importer of the database driver.
//
//	API mutation            activity under Hold          account sweep
//	     |                         |                          |
//	  one transaction each: record, bookings, sealed outputs, authorization row,
//	  outbox row, then events with the tenant's next sequence numbers
//	     |
//	outbox --(API's own attempt, or the relay a second later)--> workflow signal
//
// Invariants
//   - A record and what its change asks for (cloud.Change) are saved together
//     or not at all. A final record is never written again.
//   - Sequences of a tenant's events have no gaps: the tenant's row is locked
//     last, for the shortest time, and every number given is used.
//   - Changes under one parent are serialised by a lock of the session (Hold);
//     commits run on that session, so who lost the lock can save nothing.
//   - A child is recorded only under its parent's row lock, so that a delete of
//     the parent and a create of a child never pass each other.
//   - Secret values are stored sealed, beside a keyed digest that tells a
//     change; nothing else here ever holds one.
//
// Locks are always taken in this order: the tenant's creates (advisory), a
// parent, the records by id, capacities (advisory), outbox rows by id, the
// tenant's row.
//
// On failure every method returns *cloud.Error: a violated rule by the name of
// its constraint, UNAVAILABLE when the database does not answer in time, else
// INTERNAL with the cause for the log. A transaction that lost a deadlock or
// serialisation race is run again. Session locks need a direct connection or a
// pooler in session mode.
package postgres
