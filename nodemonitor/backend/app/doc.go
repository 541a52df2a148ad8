// Package app is the backend whose tasks run in processes of their application:
// any process that speaks the published BackendService, as Spark's do.
//
//	backend process ── registerBackend ──▶ Registry ──▶ Events: SlotAdded, ServesChanged
//	                ◀── launchTask ─────── Start
//	                ── taskFinished ─────▶ Finished ──▶ done(Done)
//	      (vanishes)                       probe    ──▶ done(Lost), SlotGone, ServesChanged
//
// # Kinds
//
// registerBackend carries the kind of the backend as a number. 0 and 1 are
// published, 2 is ours:
//
//	0 general   one slot of its own, both classes, this application only
//	1 reserved  one slot of its own, short tasks only, this application only
//	2 resident  no slot: the application may use every free slot of the node
//
// A plain Sparrow backend sends no number, which reads as 0. Any other number is
// refused.
//
// # The life of a backend process
//
//	unknown ── register ──▶ live ── connection refused ──▶ gone
//	                        │  ▲
//	 3 probes, or launches, │  │ the rest is over and a probe answered,
//	 in a row without answer▼  │ or register again
//	                       resting ── connection refused, or an hour unreachable ──▶ gone
//
// A resting backend is offered no task: its slot is withdrawn, and offered again under a new
// number. It rests for a second, and twice as long each time, up to a minute, until a launch
// is answered. An exception is an answer. A backend that could not be probed loses what ran
// in it; one that did not answer launches continues with the rest.
//
// Registering the same socket again keeps the slot, when application and kind are
// the same, and voids what ran there: a process registers when it starts, so one
// that registers again is a new process on the port of the old. Its tasks end as
// Lost. A backend that is gone must register to come back.
//
// # Launches and reports
//
// A task is in the table before its launch call leaves, so that a report that overtakes
// the call's reply finds it. A launch that fails ends its attempt as
// Lost; one that the backend answered with an error ([ErrRefused]) ends it as
// Failed, and so does the third launch of a task that the backend answered by closing the
// connection ([ErrClosed]). A report for a task that is not in the table is ignored and counted, as
// a repetition when the task has just ended and as unknown otherwise.
//
// The published service cannot stop a task. Kill marks it: the end still comes
// from the backend, since until then its slot is not free, and is then Killed.
// Nor does the service know attempts: a late report for a lost attempt ends the
// next attempt at the same task, if that runs in the same process.
package app
