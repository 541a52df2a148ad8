// Package sched is the vocabulary of every scheduling decision in Pigeon: jobs,
// tasks, attempts, classes, addresses, messages and actions, and the one
// interface, [Core], that all policies implement.
//
// # The contract of a core
//
// A core is a state machine that cannot touch the world. It receives an instant,
// a sender and a message, and appends to a list the actions to take:
//
//	Step(now, from, message, out)
//
// It holds no goroutine, lock, clock, global random source, socket, log line or
// metric. The same sequence of (now, from, message) produces the same sequence of
// actions, always and everywhere. The daemons wrap a core in one goroutine that
// owns it; the simulator wraps the very same core in an event heap. Nothing may
// iterate a map on the way to an action, no decision uses a float that is not
// rounded, and a core never sees a duration: an estimate is known to a policy, a
// duration only to the workload.
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
// other. Every message may come twice or out of date; docs/cores.md lists what makes
// a repetition of each kind harmless (a slot sequence number, an attempt, an epoch).
//
// # Room for the published rivals
//
// docs/cores.md lists the messages and timers of each role of every policy. Fields that
// only some policies send travel in [Message.More], so that Pigeon's messages stay small.
package sched
