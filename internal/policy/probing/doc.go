// Package probing is what the distributors and workers of the probing policies
// (sparrow, hawk, eagle) share: "Sparrow: Distributed, Low Latency Scheduling"
// (SOSP 2013), sections 3.3 to 3.5, batch sampling with late binding.
//
//	distributor ──Probe──▶ worker            a reservation in the worker's queue
//	distributor ◀─GetTask── worker           it is the reservation's turn
//	distributor ──Launch──▶ worker           the next task, or
//	distributor ──NoTask──▶ worker           none is left: the worker goes on
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
// The papers say nothing of failures. Here a task that becomes unbound again is
// probed for like a job of one task. When a worker goes, so do its reservations,
// and nobody knows whose they were; every job with unbound tasks is then probed
// for again: a reservation too many costs one NoTask, one too few the job. A
// GetTask carries the worker's sequence number, and its answer carries it back,
// so an answer that comes late or twice is recognised. A distributor that takes a
// worker for lost and meets it again has dropped its answer, so the worker's shell
// repeats a question that waits too long; a second task that is bound for it is
// refused. Live, a refusal is a Report that says Yielded: results are repeated until
// they are taken, and a refusal that gets lost would strand its task. A distributor that was
// started again gives every unfinished task a new attempt, as nobody knows which
// of the old ones run; one result of each counts.
package probing
