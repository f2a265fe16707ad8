// Package tinycloud is a second cloud, as unlike the first as the contract
// allows: no tags, errors told by words instead of statuses, lists by cursor,
// a secret that is shown once and recovered by making the object again. It
// holds the seam honest: it passes the conformance suite, and whatever works
// with it works with any cloud.
//
//	Cloud (cloud.Provider) -> provider/transport -> Server (HTTP, in memory)
//
// Invariants
//   - It imports package cloud and provider/transport only.
//   - Server implements providertest.Backend's faults by itself.
//
// On failure every error is a *cloud.ProviderError by class, as of any cloud.
package tinycloud
