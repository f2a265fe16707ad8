// Package database serves managed database clusters of every engine and what
// lives in them: users, databases, connection pools, read replicas, the
// firewall and Kafka topics.
//
//	cluster.json, user.json, ...   one manifest per kind, with what differs by engine
//	engine.go                      what the code must know of an engine
//	cluster.go, cluster_change.go  the clusters; user.go, firewall.go, ... the rest
//
// Invariants
//   - One kind per engine (do.database.pg.user): a spec holds only what its
//     engine has.
//   - A cluster is ours by its tags, written in the create call; a child is ours
//     because its cluster is, under the tenant's own name.
//   - One Update is one call. Size, nodes and storage go together, because the
//     provider takes them in one.
//   - What the tenant did not set is never sent and never differs. Versions,
//     hours, letter case, order and the provider's own growth (storage by
//     autoscaling, a forced upgrade) compare by meaning.
//
// On failure: an answer without an object is an unknown outcome, a null
// connection is "not yet", and a URI without its password is never sealed.
package database
