// Package sim runs the scheduling cores of the daemons in virtual time, on an event heap,
// with a workload instead of backends.
//
//	jobs ──Submit──▶ distributors ⇄ masters ⇄ workers ──Start──▶ end at now + duration
//	                      └──────── each message takes Delay ────────┘
//
// It has two uses, which share the event loop and the code that carries out actions:
//
//	Run              faults off, for measuring: the engine alone
//	RunWithFaults    faults on, for checking: a world of imitated daemons around the engine
//
// # Faults off
//
// Every scheduling decision, its order, its messages and its timers are real. The journal,
// the wire, batching, heartbeats, leases, retransmission and their cost are left out; no
// message is lost or repeated.
//
// # Faults on
//
// Shells detect failures and inform their cores of the outcome (WorkerLost, MasterLost,
// Members, Resent). The type world imitates the shells as far as that requires, each
// subject in one file:
//
//	network.go       ordered, retransmitting links; notices that may be lost, repeated
//	                 and reordered; partitions
//	heartbeat.go     timeouts after which a daemon is declared lost or a request repeated
//	registration.go  nodes at their master
//	membership.go    workers and frontends known to all daemons, under a single master
//	journal.go       a frontend's journal, its disk, its restart; submit and acknowledge
//	daemons.go, nodes.go   starts, deaths, and the delivery of messages to cores
//
// [Faults] configures the faults; plan.go draws them and their times from one seed;
// check.go and faultrun.go check what must hold after every step and at the end. Not
// imitated are the wire's format, batches as such, flow control and full queues of links,
// backends that register, and two masters of one group at once.
//
// Events of equal time run in the order in which they were created, so a seed produces the
// same history on every machine.
package sim
