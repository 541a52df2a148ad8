// Package probing is what the distributors and workers of the probing policies
// (sparrow, hawk, eagle) share: "Sparrow: Distributed, Low Latency Scheduling"
// (SOSP 2013), sections 3.3 to 3.5, batch sampling with late binding.
//
//	distributor ──Probe──▶ worker            a reservation in the worker's queue
//	distributor ◀─GetTask── worker           it is the reservation's turn
//	distributor ──Launch──▶ worker           the next task, or
//	distributor ──NoTask──▶ worker           none is left: the next reservation
//	distributor ◀─Report─── worker           the task ended
//
// A reservation is bound to a task only when a worker is free for it. The
// distributor therefore holds each unfinished task either unbound, or bound to
// the one worker it was handed to:
//
//	   ┌── refused, its worker lost, failed with retries left ──┐
//	   ▼                                                        │
//	unbound ────────────GetTask──────────▶ bound to a worker ───┴──▶ ended
//
// # Failures
//
// The papers do not treat failures. Here a task that becomes unbound again is probed
// for like a job of one task. The reservations of a lost worker are lost with it, and it is
// not known whose they were; every job with unbound tasks is then probed for again: a
// reservation too many costs one NoTask, one too few the job. A GetTask carries the
// worker's sequence number, and its answer carries it back, so an answer that comes
// late or twice is recognised. A distributor that took a worker for lost has dropped
// its answer, so the worker's shell repeats a request that waits too long; if a
// second task is bound to it, that is refused. Live, a refusal is a Report with
// outcome Yielded: results are repeated until they are acknowledged, and a lost
// refusal would leave its task bound forever. A distributor that was started again
// begins a new attempt of every unfinished task, as it is not known which of the old ones
// run; one result of each counts.
package probing
