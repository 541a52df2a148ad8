package sched

import "iter"

// Core is one scheduling state machine; package sched states its contract.
type Core interface {
	// Step processes one message at the instant now and appends to out what must
	// be done. It keeps no reference to m or to out. now never decreases. A message
	// that is not Valid, of a kind that this role does not receive, or from a role
	// that does not send it, is ignored.
	Step(now Time, from Addr, m *Message, out *Actions)
}

// The cores of the three roles: what a shell may read of each between two steps.
// Nothing that they return is kept or changed by the caller, and no decision is
// based on it. Valid checks every invariant and is called by tests after each step.
type (
	// DistributorCore is the core of a frontend.
	DistributorCore interface {
		Core
		Valid() error
		// Owed returns the sums over all unfinished jobs.
		Owed() Owed
		// JobView returns what the distributor knows of an unfinished job, with at most
		// that many of its tasks; false when it has no such job.
		JobView(id JobID, most int) (JobView, bool)
	}

	// MasterCore is the core of a master.
	MasterCore interface {
		Core
		Valid() error
		GroupView
	}

	// WorkerCore is the core of a worker: of one slot, or of several
	// ([Policy.SlotsPerWorker]).
	WorkerCore interface {
		Core
		Valid() error
		// Slot returns the state that a node reports to its master.
		Slot() SlotView
		// Holds reports whether the attempt is at the worker: it runs, is suspended, or
		// waits in the worker's queue.
		Holds(id AttemptID) bool
	}

	// GroupView is what a master shows of its group: for status, metrics and explain.
	GroupView interface {
		Totals() GroupTotals
		// Serves returns the applications that a live worker serves, sorted.
		Serves() []string
		// Serving returns the number of workers that serve the application, and how many of
		// them are idle, Unknown as in GroupTotals.Idle.
		Serving(app string) (workers int, idle [NumWorkerKinds]int)
		WorkerView(worker Addr) WorkerView
		// Share returns what the group holds of a job, with at most that many of the
		// tasks at workers, in order of launch.
		Share(id JobID, most int) JobShare
		// Running yields the job of every task at a worker, with the distributor of the job, in
		// the order of workers: a job once for each of its tasks.
		Running() iter.Seq2[JobID, Addr]
		// Owners returns the owners that use or want workers, or that a share names, each
		// after its parent; nil where workers are not shared by owner.
		Owners() []OwnerView
		// Contended reports whether tasks of other applications or owners wait that would be
		// served before the next task of this application and class.
		Contended(app, owner string, c Class) bool
	}
)
