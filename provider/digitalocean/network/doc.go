// Package network serves partner attachments: private connections between the
// tenant's networks and the network of a partner.
//
//	attachment.go   the attachment: find, create, observe, delete, list
//	keys.go         its service key and BGP key, each with its own readiness
//	meaning.go      VPCs as a set, router addresses by value, keys by digest
//
// Invariants
//   - An attachment is ours by its name, which is unique at the provider.
//   - It is ready when its keys are there, not before.
//   - VPCs and BGP change by a call each; only what changes is sent.
//
// On failure: 403 on a delete means "later" here and not a lack of rights. Keys
// can be read at any time, so a crash loses none.
package network
