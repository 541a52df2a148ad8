// Package sched is the vocabulary of every scheduling decision in Pigeon: jobs,
// tasks, attempts, classes, addresses, messages and actions, and the one
// interface, [Core], that all policies implement.
//
// # The contract of a core
//
// A core is a state machine that cannot touch the world. It is given an instant,
// a sender and a message, and appends to a list what is to be done about it:
//
//	Step(now, from, message, out)
//
// It holds no goroutine, lock, clock, random source of its own making, socket,
// log line or metric. The same sequence of (now, from, message) gives the same
// sequence of actions, always and everywhere. The daemons wrap a core in one
// goroutine that owns it; the simulator wraps the very same core in an event
// heap. Nothing may iterate a map on the way to an action, no decision uses a
// float that is not rounded, and a core never sees a duration: an estimate is
// what a policy may know, a duration is what the workload knows.
//
// # The three roles
//
//	application ──Submit──▶ distributor ──Tasks──▶ master ──Launch──▶ worker
//	                            ▲                     ▲                 │
//	                            └──────Report─────────┼─────────────────┤
//	                                                  └──────Idle───────┘
//
// The distributor lives in a frontend and owns what is owed; the master lives in
// a group master and is a cache; a worker is one slot and lives in a node
// monitor. A policy without masters leaves that role out.
//
// # Failures are messages
//
// A lost worker, a lost master, a late or repeated message are inputs like any
// other. Every message may come twice or out of date; each kind says what makes
// a repetition harmless (a slot sequence number, an attempt, an epoch).
//
// # Room for the published rivals
//
// docs/cores.md writes down, for sparrow, eagle and kairos, which messages and
// timers each role gets and sends; the shape here was held against that list.
package sched
