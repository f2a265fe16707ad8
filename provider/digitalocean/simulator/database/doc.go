// Package database simulates managed databases: clusters of every engine and the
// users, databases, pools, replicas, firewall rules, topics, schemas and log
// sinks that live in them.
//
//	POST -> creating -------------------------> online <-> resizing, migrating
//	        (forking, from a backup)              |
//	                                DELETE: stays in reads for the deletion time,
//	                                its name stays taken and its VPC in use
//
// Invariants:
//   - A resize keeps answering online with the old values for a third of the
//     update time before it shows as resizing.
//   - While a cluster is created nothing in it can be changed (412), and while it
//     is resized, migrated or upgraded no second such operation starts (412).
//   - Passwords are readable on every read, except MongoDB's (only in the answer
//     that made them) and those of an account that may not see credentials.
//   - User settings (access lists) are in the answers that change them and in no
//     other.
//   - Where sources disagree: the create of a topic answers without the topic, as
//     Terraform found, not with it, as the document has it; access lists come back
//     in another order than they were sent, as users report; an rsyslog sink may
//     leave tls out, as godo does, though the document requires it.
//   - No failed state exists at this product; a fault that asks for one ends in
//     the status "error".
package database
