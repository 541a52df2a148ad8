// Package jobs is the table of a frontend's jobs: which there are, and the state and status of each.
//
// The core decides; its records are applied here (Table.Record) and journaled, and what they
// cause outside happens when they are on the disk (Table.Release). The record is the event:
// whatever else a frontend does with jobs is an Observer, with a table of its own.
//
//	core ──record──▶ Table.Record ──Recorded──▶ observers: metrics, traces, attempts, quotas,
//	                 │ state, status            classes, usage, events, task history, listeners
//	                 └─▶ journal ──fsynced──▶ Table.Release ──Written, Ended──▶ observers
//
// An observer is told each Change on the owner goroutine: a record before the table applies it, the
// end of a job (Ended) with its final status, which is on the disk. It may
// write into the Record what it wants back after a restart (journal.Ended), and then finds it
// in Replayed and Former. What others may learn only from the disk it keeps in a Queue until
// Written. The list of observers is frontend.observers; this package knows none of them.
package jobs
