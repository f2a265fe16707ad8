// Package edge serves domains with their DNS records, and the CDN of Spaces.
//
//	domain.go   a zone, under the tenant's own name
//	record.go   a record that lives in a zone
//	meaning.go  when two records are the same, and which fields a type has
//	cdn.go      a CDN endpoint of a Space
//
// Invariants
//   - The provider keeps no mark of ours on any of these. A zone and an endpoint
//     are ours only because a create of the record was noted before it was sent;
//     one that was there already is somebody else's and is left alone.
//   - Records may stand in a zone twice, so a create follows a look through the
//     zone for type, name and data.
//   - Requests for CDN endpoints are few (5 in 10 seconds for an account): an
//     answer to a change is used instead of a look, and sweeps take the list.
//
// Everything here is synchronous; on failure the next look tells what was done.
package edge
