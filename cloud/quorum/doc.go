// Package quorum lets a daemon check by itself that enough people approved a
// destructive command, whoever delivers the command. It imports the standard
// library and transparency-dev/merkle only, so a daemon can use it alone.
//
//	commands ──► Leaf ──► Tree ──► root ─┐
//	(subject, kind, payload digest)      │   trust domain, batch id,
//	                                     ├─► Statement ──► Sign, offline,
//	                                     │   leaf count, expiry   by each approver
//	                                     ▼                           │
//	Command = statement + approvals + leaf + index + proof + payload ◄┘
//	                │
//	      Verify(daemon's own Policy, Command, now) ──► execute once (daemon)
//
// Invariants
//   - Bytes that are hashed or signed start with a tag that names what they
//     are and its version, and every variable part carries its length, so two
//     different values never share an encoding.
//   - Verify is the only way to accept a command and VerifyApprovals the only
//     way to count approvers; the control plane uses the same functions.
//   - The daemon's policy decides; nothing in a command can lower a threshold
//     or add a key.
//   - A leaf and an inner node are never the same bytes (RFC 6962), and the
//     signed leaf count fixes the shape of the tree, so a proof holds for one
//     index of one batch only.
//
// Failure: each refusal is a *Refusal with a stable Reason. Nothing here
// panics on input, keeps state or reads a clock. That a command runs at most
// once is the daemon's duty and lives in its journal (package daemon).
package quorum

//go:generate go test . -run ^TestVectors$ -count=1 -update-vectors
