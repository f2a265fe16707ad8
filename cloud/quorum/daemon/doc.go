// Package daemon is the reference daemon: it receives commands over HTTP,
// checks each by its own policy file and runs it at most once.
//
//	POST /v1/commands ─► token ─► decode ─► quorum.Verify (own policy, own clock)
//	                                             │ kind on the list?
//	                                             ▼
//	              journal: intent, fsync ─► Executor ─► journal: result, fsync ─► answer
//	                     │
//	         leaf already there ─► its recorded answer, replayed: true
//
// Invariants
//   - Nothing runs before its intent is on disk, and a (batch id, leaf hash)
//     has one intent for ever: at most one execution, whatever is sent, how
//     often, to how many connections, and whenever the process dies.
//   - Each record carries the hash of the one before it. A changed, removed or
//     reordered record stops the next start.
//   - One process owns a journal (file lock).
//   - A command runs to its end even when its caller has gone; the caller asks
//     again and gets the record.
//
// Failure
//   - Killed between intent and result: at the next start the command is
//     recorded as interrupted, answered so and never started again.
//   - Half a line at the end of the journal (killed while writing): dropped at
//     the next start; nothing ran on the strength of it.
//   - The journal cannot be written: every further command gets 503 until a
//     restart, because what is on disk is no longer known.
package daemon
