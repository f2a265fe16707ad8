// Package observability serves uptime checks and their alerts.
//
// Invariants: a check bears the record's name, which the API does not keep
// unique, so it is found again by that name alone; an alert lives in its check
// under the tenant's own name. Addresses of Slack hooks are secret inputs: they
// are compared by digest and never kept.
//
// Everything here is synchronous; on failure the next look tells what was done.
package observability
