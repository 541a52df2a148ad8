// Package sim runs the scheduling cores in virtual time: the very cores that the
// daemons run, on an event heap, with a workload instead of backends.
//
//	workload ──Submit──▶ distributors ⇄ masters ⇄ workers ──Start──▶ end at now + duration
//	                          └──────── each message takes Delay ────────┘
//
// What is real: every scheduling decision, its order, its messages and timers.
// What is left out: the journal, the wire, batching, heartbeats, leases,
// retransmission and the cost of all of these; a message is neither lost nor
// repeated. Their outcomes (WorkerLost, MasterLost) are inputs of the cores and
// are tested there.
//
// Events of equal time run in the order in which they were made, so one seed
// gives one sequence of actions, on every machine.
package sim
