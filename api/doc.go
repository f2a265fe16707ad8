// Package api serves the contract over HTTP with Echo: it authenticates, reads
// and checks the input, hands it to the rules of package intent, and writes the
// answer. It keeps nothing of its own.
//
//	request --> request id, log, metrics, recover
//	        --> authenticate (static token or JWT)      401
//	        --> read and check against the schema       400
//	        --> intent.Service and the other ports      403 404 409 422 ...
//	        --> answer;  after a mutation: nudge the workflow, not waited for
//	errors  --> one handler writes every error body
//
// Invariants
//   - A mutation goes on when its caller goes away: its context is cut loose
//     from the connection once the input is read.
//   - No token, input or answer is logged.
//   - The text of an INTERNAL error says nothing; the log has all, under the
//     request id that the body names.
//
// When Temporal is down mutations still answer: their outbox rows are delivered
// when it is back. When Postgres is down every call is UNAVAILABLE.
package api
