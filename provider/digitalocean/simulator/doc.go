// Package simulator is an HTTP server that behaves like the DigitalOcean API. It
// is the cloud of the development environment and of the tests: whatever talks to
// the real API (godo, doctl, Terraform) may be pointed at it.
//
//	core/      the machinery: accounts, tables, lifecycle, faults, rate limit,
//	           ledger, control surface, and "How to add an area"
//	basics/    account, regions, sizes, projects, tags, VPCs, Droplets
//	database/  managed databases and what lives in them
//	...        one package per further product; areas.go lists them all
//	simtest/   starts one for the tests of other packages
//	spectest/  starts one whose every answer is validated against the provider's
//	           OpenAPI document
//
// What it promises and what it loses on a failure stands in the comment of
// package core. Nothing here imports the rest of this project, so that a mistake
// in our reading of the API is not hidden by sharing code with the client.
package simulator
