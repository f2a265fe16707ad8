// Package harness simulates Harness Runtime (Managed Agents): environments,
// their sessions, and the signals that are detected in what sessions said.
//
//	POST /_simulator/signals -> a turn in a session of the environment, with a
//	                            detector's hit, a failed run or a failed session
//	GET  /v1/signals/...     <- what was detected, where collection is consented to
//
// Rules that clients meet: environments never change; names are unique whatever
// their letter case; secrets of a manifest are never shown; errors come nested
// ({"error":{"code","message"}}); lists go by page tokens, signals by cursors.
// Every region is served by this one host. Raising a signal consents to
// collection, unless it was switched off.
package harness
