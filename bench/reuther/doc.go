// Package reuther measures schedulers by the method of Reuther et al., "Scalable system
// scheduling for HPC and big data" (2018; arXiv 1705.03102), sections 4 and 5, side by side.
//
//	Plan ──▶ Sets: P slots, n tasks of t seconds for each, t x n constant
//	Peers ─┐
//	Plan ──┴─▶ Run: every set on every peer in turn, round after round ──▶ Result
//	Result ──▶ a page with one table
//
// A peer starts programs in a number of slots. Peers are Pigeon, the floor (goroutines that start the
// programs, with no queue at all), xargs, GNU parallel, and the job queues asynq and River. All start
// the same programs. Peers are measured one after another within each round, so that other load of the machine affects all of them; between their sets their daemons are
// idle. A set begins before the first program is submitted and ends when the peer itself knows that the
// last one has ended.
//
// The daemons of a peer live in a temporary folder, listen on a socket in it or on the
// loopback interface, and are gone after Stop with all processes that they have started (place).
//
// Times are of the wall clock. Processor time is that of the whole machine, because the
// processes of some peers cannot be distinguished; the processor time of a run is
// meaningful only if it has the machine to itself, so the load before it is recorded.
package reuther
