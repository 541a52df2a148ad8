package sched

// Policy makes the cores of one scheduling policy and declares everything else that
// the shells around them need to know. A nil constructor means that the policy has
// no such role.
type Policy struct {
	Name string

	// Central is set when one master schedules the workers of all groups.
	Central bool
	// Slots is how many slots one worker has; 0 is one. See [Policy.SlotsPerWorker].
	Slots int
	// LateBinding is set when workers ask frontends for tasks, of all jobs or of one
	// class: a task is bound to a worker when that is free, and not before.
	LateBinding bool
	// Sequenced is set when a worker numbers the states of its slot and a launch names
	// the state that it was made for. The worker refuses a launch made for an earlier
	// one, and offers its slot again.
	Sequenced bool
	// PeerAware is set when workers send messages to each other: they get Members, as
	// distributors do.
	PeerAware bool
	// CrossGroup is set when masters hand tasks to each other: they get MasterUp and
	// MasterLost of the others, as distributors do.
	CrossGroup bool
	// Suspending is set when masters have tasks suspended and continued. Simulated, each of
	// the two costs 0.005 cutoffs.
	Suspending bool
	// Wide is set when tasks may take several slots of a node, and jobs be gangs.
	Wide bool
	// NodesSuspend is set when a node takes more tasks than it runs, and decides itself which
	// of them it suspends. Simulated, this costs nothing.
	NodesSuspend bool

	NewDistributor func(DistributorConfig) DistributorCore
	NewMaster      func(MasterConfig) MasterCore
	NewWorker      func(WorkerConfig) WorkerCore

	// Explain returns the sentence that `pigeon explain` prints for tasks that wait at
	// a master: in which order they are served, and what would start them sooner. A
	// policy without masters needs none.
	Explain func(*Waiting) string
}

// SingleMaster reports whether a cluster has one master daemon under the policy, of
// group 0, which numbers all workers, and not one for each group: either one master
// core schedules all workers, or there is none and the daemon only publishes the
// membership (docs/adr/0008-single-master.md).
func (p *Policy) SingleMaster() bool { return p.Central || p.NewMaster == nil }

// SlotsPerWorker returns how many slots one worker has, at least one.
func (p *Policy) SlotsPerWorker() int { return max(1, p.Slots) }

// Waiting describes tasks of one job that wait at one master.
type Waiting struct {
	Place      string // "Group 3", "Groups 3 and 4" or "The central master", to begin a sentence with
	Class      Class  // of the job
	Queued     int    // tasks of the job that wait there
	QueuedAll  [NumClasses]int
	Workers    int                 // that serve the job's application
	Idle       [NumWorkerKinds]int // workers there, of any application
	OldestWait float64             // of any task of the class there, in seconds
}

// Params are the numbers of a policy, the same for all its roles.
type Params struct {
	Cutoff   Time    // a mean task duration up to this is short
	Weight   int     // W; 0 is infinite (strict priority)
	Reserved float64 // share of each group's slots that serve short tasks only
}

// DistributorConfig configures a distributor.
type DistributorConfig struct {
	Self   Addr
	Seed   uint64 // of the run; a job's draws come from it and the job's key
	Params Params
	// FirstAttempt is the first number that this life of the distributor gives to
	// attempts; 0 is 1. An earlier life numbered below it (docs/adr/0017-attempt-identity.md).
	FirstAttempt int32
	// LossWindow is how long the loss of a node counts against the task that it ran; 0 is
	// 10 minutes.
	LossWindow Time
}

// AttemptsPerLife is how many numbers of attempts one life of a distributor has.
const AttemptsPerLife int32 = 10_000

// MasterConfig configures a master.
type MasterConfig struct {
	Self     Addr
	Seed     uint64
	Params   Params
	MaxTasks int  // tasks queued at most, 0 for no limit
	Recover  bool // wait for nodes before launching tasks sent again (docs/design.md, section 2)
}

// RecoveryOver is the token of the timeout that ends this wait. A shell that knows that all
// nodes have reported steps it early; the timer's own timeout is then stale.
const RecoveryOver uint64 = 0

// WorkerConfig configures a worker.
type WorkerConfig struct {
	Self     Addr
	Seed     uint64
	Params   Params
	Master   Addr   // of its group
	Seq      uint64 // slot sequence number to continue from
	Reserved bool   // the slot's application chose that it serves short tasks only
}
