// Package worker is the process that runs workflows and activities, and the
// loops that keep Postgres and Temporal together.
//
//	Postgres outbox --relay--> SignalWithStart --> Temporal --> workflows (queue cloud-resources)
//	stalled rows ---healer--> outbox                      \---> provider activities (cloud-resources-provider)
//	accounts -------starter-> account sweeps               \--> webhook activities (cloud-resources-webhook)
//	hours ----------biller--> usage rows
//	certificates --watcher--> expiry events
//
// Invariants
//   - Everything is registered by name, in one list; a name in a history never
//     changes its meaning.
//   - An activity that has begun runs to its end or its deadline. A workflow
//     that asked for something else meanwhile waits for the record's lock, not
//     for a broken-off call of unknown outcome.
//   - Any number of workers may run. They share nothing but Postgres and Temporal.
//
// On failure: a loop logs, waits longer each time and goes on; while Temporal
// does not answer nothing is lost, since the outbox keeps what was not
// delivered. A worker that dies is noticed by its missing heartbeats, and what
// it was doing is given to another.
package worker
