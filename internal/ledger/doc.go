// Package ledger keeps what a distributor owes: the jobs it accepted, for every
// task the attempt that counts and the group that holds it, and which results
// were accepted. It is the part of a distributor that no policy changes, so
// every policy's distributor keeps one.
//
//	          ┌─────── lost (up to 3), failed with retries left, yielded ───────┐
//	          ▼                                                                 │
//	unplaced ──Place──▶ placed ──────────── attempt n runs somewhere ───────────┤
//	          ▲            │                                                    │
//	          └──Unplace───┘                          first result ──▶ finished ┘
//
// Execution is at least once, acceptance exactly once: the first result of any
// attempt ends the task, all later ones are only counted (docs/design.md, section 2).
// The ledger decides nothing about where a task runs. Every change that must
// survive the process is appended as a Persist action before the caller can act
// on it.
package ledger
