// Package cloud is the domain: what a resource, a kind, a provider and an
// error are, and the rules that decide what happens next. It imports the
// standard library only and performs no I/O, so every rule in it is tested as
// a table.
//
//	   tenant's wish                    provider's answer
//	        |                                  |
//	Resource (Postgres row)             Observed (one look)
//	        \                                  /
//	         Decide(record, now)   Reconcile(record, observed, now)
//	                |                          |
//	    which activity runs next     what that activity does next
//
// Invariants
//   - A state is one of the eight of State; a resource in StateDeleted or
//     StateReleased never changes again.
//   - The provider id of a record is set once and cleared only when a
//     once-only secret has to be made again (D19).
//   - A Secret prints, marshals and logs as a placeholder; only Reveal gives
//     its value.
//
// On failure every function returns *Error (for callers) or *ProviderError
// (what a provider said, by class); nothing here panics on data.
package cloud
