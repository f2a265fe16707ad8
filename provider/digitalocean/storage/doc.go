// Package storage serves block storage.
//
// Invariants: a volume carries our tags from its create call on; it only grows;
// its data is never touched by an update. On failure nothing is half done: a
// resize is one action, which the provider finishes or leaves.
package storage
