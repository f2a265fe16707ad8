// Package intent records what callers want: the eleven calls on cloud
// resources, under one set of rules for HTTP and for signals that an operator
// sends by hand. It decides; it stores nothing and calls nobody itself.
//
//	api (HTTP) ---------.
//	                    |--> Service --> Authorizer   may the caller?
//	activities (signals)'       |        Validator    does the spec fit its schema?
//	                            |        Accounts     kinds, and the provider for reads and adopt
//	                            '------> Store        one transaction: checks, row, event, outbox row
//
// Invariants
//   - The checks of a create run in the order of D21; those that depend on
//     other rows run again, or for the first time, inside the store's transaction.
//   - A repeat of a completed create or adopt returns what it made, whatever
//     would be refused today.
//   - No provider is asked while a transaction is open.
//   - Every error is a *cloud.Error that names nothing of another tenant.
//
// On failure nothing is recorded: a refusal comes before the store's
// transaction or rolls it back. When the answer of the store is lost the caller
// repeats the call: create and adopt under the same key, delete and release as
// they are, update with expectedVersion.
package intent
