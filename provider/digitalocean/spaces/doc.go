// Package spaces serves access keys of Spaces, the object storage.
//
// Invariants
//   - A key is ours by its name, which is not unique at the provider: a create
//     follows a look through the whole list.
//   - The secret half is in the answer to the create and nowhere else.
//   - Grants are fixed: what a key may do never grows behind its holder.
//
// On failure: a secret half that a crash lost makes the key worthless, so it is
// deleted and made anew, before it was ever ready.
package spaces
