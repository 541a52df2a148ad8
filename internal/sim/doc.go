// Package sim runs the scheduling cores in virtual time: the very cores that the daemons
// run, on an event heap, with a workload instead of backends.
//
//	jobs ──Submit──▶ distributors ⇄ masters ⇄ workers ──Start──▶ end at now + duration
//	                      └──────── each message takes Delay ────────┘
//
// It has two uses, with one event loop and one place that carries out actions:
//
//	Run              faults off, for measuring: the engine alone
//	RunWithFaults    faults on, for checking: a World of imitated daemons around the engine
//
// # Faults off
//
// Real are every scheduling decision, its order, its messages and timers. Left out are the
// journal, the wire, batching, heartbeats, leases, retransmission and the cost of all of
// these; a message is neither lost nor repeated.
//
// # Faults on
//
// Cores know of a failure by its outcome (WorkerLost, MasterLost, Members, Resent), which
// the shells around them find out. [world] imitates the shells as far as that needs, each
// subject in one file:
//
//	network.go       links that keep the order and send again; notices that may be lost,
//	                 repeated and reordered; partitions
//	heartbeat.go     who is taken for lost after how long; what is sent again, asked again
//	registration.go  nodes at their master
//	membership.go    workers and frontends that everybody knows, under a single master
//	journal.go       a frontend's journal, its disk, its restart; submit and acknowledge
//	daemons.go, nodes.go   starts, deaths, and how a message finds its core
//
// [Faults] says what may happen; plan.go draws what does, and when, from one seed; check.go
// and faulty.go hold what must be true after every step and at the end. Not imitated: the
// wire's format, batches as such, flow control and full queues of links, backends that
// register, and two masters of one group at once.
//
// Events of equal time run in the order in which they were made, so one seed gives one
// history, on every machine.
package sim
