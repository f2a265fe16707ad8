// Package digitalocean serves DigitalOcean's managed services.
//
//	kinds.go      one line per kind; the order is the one that callers see
//	account.go    an opened account: kinds, catalogue, signals, health
//	doapi/        what all kinds share
//	<area>/       the kinds, three files each: manifest, code, test
//	simulator/    an HTTP server that behaves like the provider
//
// Invariants
//   - Opening an account makes no call, and manifests need no account.
//   - A call that only reads (catalogue, signals, health) sends no mutation.
//
// On failure everything returns *cloud.ProviderError by class.
package digitalocean
