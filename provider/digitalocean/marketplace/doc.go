// Package marketplace serves add-ons: services of third parties that are sold
// and billed on the provider's account.
//
// Invariants
//   - An add-on is ours by its name, which is not unique at the provider: a create
//     follows a look through the whole list.
//   - What the buyer told the vendor (metadata) may be secret and comes back in
//     plain text; it is never read.
//   - The address that logs its bearer in is a secret output, taken from looks at
//     the one add-on only. A list that had another each time would change it at
//     every sweep.
//
// On failure: a vendor that fails or suspends leaves the add-on in error with the
// vendor's words. Nothing here can start it again; a change of the plan is tried,
// and a delete ends it.
package marketplace
