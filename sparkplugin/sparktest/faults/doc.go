// Package faults kills or stops, one after another, every process that a Spark
// application depends on, in each phase of its work, and then checks that its result
// is right and that nothing is left behind.
//
//	phases.py ──flag: a task of the phase has begun──▶ inject ──▶ recover ──▶ the answer ──▶ Clean
//
// A killed daemon is started again, as a machine's supervisor does; a paused
// process continues after five seconds. An application whose driver was killed has no
// answer: the next application, on the same cluster, must have it.
//
// The tests run a short choice; with -full, every fault in every phase.
package faults
