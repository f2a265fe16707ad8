// Package inference simulates Dedicated Inference: endpoints that serve models
// on GPUs of their own, and their access tokens.
//
// Its quirks are kept:
//   - An endpoint takes a change only while it is at rest; otherwise 403, which
//     means "later". A change must name the version that it starts from.
//   - The live spec stays until a change is through; what comes stands beside it
//     as pending_deployment_spec.
//   - A token's value is in the answer that made it and nowhere else. The first
//     one comes with the endpoint. Some tokens are the provider's own.
//   - A deleted endpoint lingers, and its name stays taken until it is gone.
package inference
