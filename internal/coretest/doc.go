// Package coretest runs the cores of a policy in a small cluster of daemons that
// exists only in memory: a clock that moves when told, links, and faults.
//
//	Cluster   distributors, masters and nodes with slots, wired by links
//	Chaos     breaks a cluster at random and then lets it heal
//	Script    plays a scenario of prose and commands, for golden traces
//	Drive     gives one core whatever a fuzzer wrote
//
// What stands in for the shells of the daemons follows them: messages of one
// daemon to another keep their order and may come twice in a row; Idle and Report
// are notices that may be lost, repeated and reordered; a node repeats a report
// until it is acknowledged and tells the state of its slots from time to time
// (design.md, section 2, rule 8). A daemon that dies takes along what it has not
// sent; what is on its way may still arrive, however late. A distributor's
// Persist actions are its journal: it may die between any two of them.
//
// After every step the invariants that a core offers (a method Valid() error) are
// checked. When the cluster has healed, every job must have ended, every task
// must have one accepted result, which must be of an attempt that ran, and no
// master may still hold anything. Then all recorded inputs are fed to fresh cores,
// which must act the same.
package coretest
