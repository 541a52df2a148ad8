package sched

// Unknown stands for a number, or an instant, that a core does not know.
const Unknown = -1

// WorkerKind is whether a worker serves both classes or short tasks only.
type WorkerKind uint8

// The kinds of workers.
const (
	General WorkerKind = iota
	Reserved
	NumWorkerKinds
)

// Owed are the sums over what a distributor has accepted and not finished.
type Owed struct {
	Jobs, Tasks int
	Repeated    uint64 // results that came again, or for a task that had ended
}

// JobView is a distributor's view of an unfinished job.
type JobView struct {
	App     string
	Late    bool // its tasks are bound late: workers ask for them
	Unbound int  // unfinished tasks that neither a master nor a worker holds
	Bound   int  // unfinished tasks held by one of them
	Waiting int  // unfinished tasks that wait for the time of their next attempt

	// For a job with a limit of running tasks.
	MaxRunning int // that limit
	Throttled  int // unfinished tasks that wait for others of the job to end

	// When Waiting is above 0.
	Next     Time  // the time of the first next attempt
	NextTask int32 // its task

	// For a job that is bound late.
	NoWorker bool       // there was no worker to send a reservation to
	Tasks    []TaskView // the first of the bound tasks, in order
}

// TaskView is an attempt at a worker.
type TaskView struct {
	Task, Attempt int32
	Worker        Addr
	Suspended     bool // it continues after another task that runs there
	Since         Time // its start if it had run without pauses, Unknown where the core does not know; for a worker that registered with it, not before that

	// While it is suspended.
	SuspendedAt Time  // since when, as far as the core knows
	For         JobID // whose task runs there now
}

// GroupTotals are the figures of a master's whole group. A policy without classes or
// reserved workers leaves the second of a pair at zero.
type GroupTotals struct {
	Queued   [NumClasses]int  // tasks that wait for a worker
	Oldest   [NumClasses]Time // since when the one waits that has waited longest, Unknown without one
	Workers  [NumWorkerKinds]int
	Idle     [NumWorkerKinds]int // that take tasks; Unknown where workers get tasks from others as well
	Busy     [NumWorkerKinds]int // all where Idle is Unknown; the others take nothing now: their node drains, say
	Kept     int                 // workers that are free, and held back for tasks of several slots and gangs
	Wide     int                 // of Queued: tasks of several slots and of gangs
	Launches uint64
	Lost     uint64 // attempts whose worker was lost
	Refused  uint64 // launches that a worker refused
}

// WorkerView is a master's view of one worker.
type WorkerView struct {
	Reserved bool
	Tasks    int // running, suspended or queued at it; Unknown as in GroupTotals.Idle

	// Of the job whose task runs there; a node reports the class with which it was launched.
	Running bool
	Class   Class
}

// OwnerView is a master's view of an owner, or of all owners below a path.
type OwnerView struct {
	Owner    string           // the path, "" for the root, which stands for all
	Share    Share            // as configured, or weight 1
	Entitled float64          // workers, with the owners that want some now
	Running  [NumClasses]int  // workers that it uses
	Queued   [NumClasses]int  // tasks that wait
	Used     [NumClasses]Time // worker time, since the master knows the owner
	Lead     [NumClasses]Time // by how much worker time it is ahead of the one served next
}

// JobShare is what a group holds of a job.
type JobShare struct {
	Queued  int
	Running int        // tasks at workers
	Tasks   []TaskView // the first of those
}

// SlotView is a worker's own state. All but Seq is zero where launches are not
// sequenced ([Policy.Sequenced]).
type SlotView struct {
	Seq      uint64    // sequence number of the slot's state; 0 of a worker that keeps none
	Epoch    uint64    // highest of the masters that have sent a message
	Reserved bool      // serves short tasks only
	Running  AttemptID // Attempt 0 when it runs nothing
}
