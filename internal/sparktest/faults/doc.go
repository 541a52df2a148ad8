// Package faults kills and stops, one after another, every process that a Spark
// application runs by, in each phase of its work, and then looks at two things: is
// its result right, and is anything left behind?
//
//	phases.py ──flag: a task of the phase has begun──▶ strike ──▶ heal ──▶ the answer ──▶ Clean
//
// A killed daemon is started again, as a machine's supervisor does; a paused
// process goes on after five seconds. An application whose driver was killed has no
// answer: the next one, on the same cluster, must have it.
//
// The tests run a short choice; with -full, every fault in every phase.
package faults
