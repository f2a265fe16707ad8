// Package doapi is what every kind of the DigitalOcean provider shares: one
// account's client, the meaning of its errors, its tags and its paging.
//
//	kind -> Account.API (godo) or Account.Call (raw) -> provider/transport -> HTTP
//	  ^                        |
//	  '---- *cloud.ProviderError by class <- Fail(verb, kind, err) ----'
//
// Invariants
//   - godo's retries are off: a create is sent once (its retry re-sends POST).
//   - Every error that leaves a kind went through Fail, so it carries a class,
//     at most 500 characters of the provider's words, and no secret.
//   - Lists are read to the last page, or they are an error.
//
// On failure nothing panics: an answer that is cut, garbage or empty is
// ClassUnknown, and a kind treats a missing object in a good answer as
// "not told" (see Missing).
package doapi
