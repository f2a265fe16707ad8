// Package inference serves Dedicated Inference: endpoints that run models on
// GPUs of their own, and their access tokens.
//
//	dedicated.go   the endpoint: find, create, observe, delete, list
//	change.go      one versioned PATCH of the whole spec, and lost tokens
//	meaning.go     which deployments are the same
//	booking.go     how many GPUs a spec takes
//	token.go       an access token that lives in an endpoint
//
// Invariants
//   - An endpoint is ours by its name, which is unique at the provider.
//   - A change starts from the live spec as it is right before: its version, and
//     the ids of the deployments that stay.
//   - maxReplicas is booked and never sent; the provider knows no such thing.
//   - Tokens that the provider manages are never listed, shown or revoked.
//
// On failure: 403 on a change means "later" here and not a lack of rights. A
// token's value is shown once; when a crash lost that of the endpoint, a token
// under the endpoint's own name replaces it, and a lost one of a token resource
// means revoking the token and making it anew.
package inference
