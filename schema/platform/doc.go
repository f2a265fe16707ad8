// Package platform is the platform file: what an owner declares about tenants,
// who may call, provider accounts, pools and rules.
//
//	platform.yaml --Parse--> JSON Schema --> Go types --> Check --> *File
//	                                                        |
//	                        schema/postgres Apply: one transaction, then in force
//
// Invariants
//   - A *File that Parse returned is whole: every reference leads to something
//     that the same file declares, and no id stands twice.
//   - No secret of production stands in a file: tokens of callers are SHA-256,
//     tokens of providers come from a variable or a file. Only a file that says
//     development: true may hold values in clear, and they never print.
//
// On failure Parse returns *Invalid, which lists every problem with its path
// (pools[2].account), never with a value. Nothing here does I/O except Load and
// SecretSource.Resolve.
package platform
