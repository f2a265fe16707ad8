// Package authz decides who may do what: the platform file's policies, compiled
// to Cedar and decided by cedar-go. Deny wins; nothing is allowed by default.
//
//	platform.Policy --compile--> one Cedar policy per statement
//	                                   |
//	principal, tenant --select--> those that can concern the caller
//	                                   |
//	action, target ---------------> cedar.Authorize --> nil or ACCESS_DENIED
//
// Invariants
//   - A policy reaches its principals' own tenants, or those that it names.
//   - A condition on an attribute that the target lacks does not hold for
//     StringEquals and StringLike, and holds for StringNotEquals.
//   - An attribute that nobody knows yet (Target.Unknown) neither allows nor
//     refuses: conditions on it are left out of what allows, and what denies
//     because of it does not deny yet.
//   - Policies are those of the platform's revision that the request saw, so a
//     call after an apply never meets the old ones.
//
// On failure (the policies cannot be read) nothing is decided: the error is
// UNAVAILABLE and the call is refused.
package authz
