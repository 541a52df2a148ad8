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
// Members, Resent). The type world imitates the shells as far as that requires. It
// composes these types:
//
//	cluster          the daemons
//	hosts            their cores, and steps of them
//	draws            what happens to messages, by chance
//	network          ordered, retransmitting links; notices that may be lost, repeated
//	                 and reordered; partitions
//	heartbeats       timeouts after which a master is declared lost
//	registrations    of nodes and workers at their master
//	publisher        workers known to all daemons, under a single master
//	journal          of a frontend, with its disk and restart
//	nodeShells, masterShells, frontendShells
//	                 starts, deaths, and the messages that cores receive and send
//	faultPlan        the faults and their times, drawn from one seed
//	checker          what must hold after every step and at the end
//	history          the steps, to be printed and replayed
//
// [Faults] configures the faults. Not imitated are the wire's format, batches as such,
// flow control and full queues of links, and backends that register.
//
// A standby is another process that acts under the name of a master or a frontend. The
// former one may run on for a while (takeovers.go); two fences keep it from doing harm
// (fence.go, journal.go), and [Faults.NoFence] takes them away.
//
// Events of equal time run in the order in which they were created, so a seed produces the
// same history on every machine.
package sim
