// Package transport holds what stands between every cloud's client and the
// network, in one order and one place:
//
//	client -> budget -> metrics -> bounds -> authorization -> http.Transport
//
// Invariants
//   - A request is sent at most once: nothing here retries.
//   - No request leaves without one unit of the account's budget; a refused one
//     fails with the budget's own *cloud.ProviderError and reaches no network.
//   - An answer's body is at most MaxBody bytes; the rest is an error while
//     reading, never a silent cut.
//   - The bearer token goes to the account's own hosts only, and redirects are
//     not followed, so that it cannot be lured elsewhere.
//
// On failure a round trip returns the error of the part that failed; nothing is
// logged here, so nothing can leak.
package transport
