// Package ports is what activities and the worker ask of the rest of the
// system: the store, provider accounts, the rules of intents. schema/postgres
// implements most of it. It holds declarations only.
package ports
