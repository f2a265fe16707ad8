// Package apitest is the world in which the rules of intents and the API are
// tested: real Postgres with the development platform and some more, the real
// contract and policies, and a small provider in memory. It is for tests only.
package apitest
