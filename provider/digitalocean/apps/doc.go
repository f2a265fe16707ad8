// Package apps serves App Platform apps.
//
//	wanted spec -> body.go: whole spec, with the provider's own parts kept -> PUT -> a deployment
//	     |                                                                             |
//	meaning.go: same in meaning? <- observed spec <- GET app <- deployment.go: followed by id
//
// Invariants
//   - A look never starts a build. Only a difference in meaning, or a refresh that
//     somebody asked for on a failed app, does.
//   - What we send is the whole spec: every wanted field, and unchanged whatever
//     the provider holds that the tenant never set or that we do not know.
//   - A secret is sent in plain text once per version; after that the encrypted
//     value that the provider made of it goes back instead. Neither is kept: the
//     notes hold keyed digests, and Observed.Spec a fingerprint.
//   - The deployment that our own call started decides, not the newest one.
//
// On failure: after a call with an unknown outcome the notes keep what was there
// before and what was sent, so that the next look can tell which of the two it
// sees. Notes that a crash lost cost one more deployment, never a missed change.
package apps
