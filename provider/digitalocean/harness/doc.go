// Package harness serves environments of Harness Runtime (Managed Agents), a
// preview.
//
//	spec.region -> host of that region -> /v2/harness-runtime/configs
//	spec.manifest_yaml -> SecretRefs replaced by their values, in memory -> POST
//
// Invariants
//   - An environment lives on the host of its region and is unknown on any other.
//   - It never changes: every change of the spec asks for a new one.
//   - Values of secrets exist in the body of the one create call. They are set as
//     YAML values, so that no value can change the document around it.
//   - Names are unique in the team whatever their letter case; ours are lower case.
//
// On failure: a team without the feature gets 403, which refuses the resource
// and says nothing about the account.
package harness
