// Package workflows holds the long-running part: one workflow per resource,
// certificate and command batch, one per provider account, one per webhook
// subscriber.
//
//	signal (a nudge)      +--------- entity loop ---------+
//	API, relay, sweep --> | drain signals                 |
//	or by hand            | load -> Next{Step}            |   one activity in
//	                      | run the step's activity ------+-> flight, which a
//	                      | rest: wait for a signal       |   signal interrupts
//	                      | error: wait with one timer    |
//	                      +-------------------------------+
//
// Invariants
//   - Signals carry no truth: the record is read again. Late, doubled,
//     reordered and lost ones are harmless.
//   - What to do next is decided in activities (cloud.Decide); the loop only
//     carries it out, so a changed rule never breaks a running history.
//   - At rest there is no timer and no pending activity.
//   - Cancelling a workflow is noted and otherwise ignored: a resource ends by
//     delete or release. A terminated one is started again by the sweeper.
//
// On failure an activity is retried by the server for as long as it takes; the
// reason stands in the pending activity and in the workflow's current details.
package workflows
