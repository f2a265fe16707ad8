// Package functions serves Functions namespaces.
//
// Invariants
//   - A namespace is ours by its label, which is unique in the account.
//   - The key travels in every answer, that of the list too: it goes into
//     Observed.Secrets, and those of namespaces that are not asked for are dropped.
//   - A 404 on the create is a bad request, never absence.
//
// On failure: an answer without a key keeps the sealed one.
package functions
