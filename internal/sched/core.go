package sched

// Core is one scheduling state machine; package sched states its contract.
type Core interface {
	// Step takes one message at the instant now and appends to out what is to be
	// done. It keeps no reference to m, nor to out. now never goes back. A message
	// that is not Valid, of no kind for this role, or from a role that does not
	// send it is ignored.
	Step(now Time, from Addr, m *Message, out *Actions)
}

// Policy makes the cores of one scheduling policy. A nil constructor means that
// the policy has no such role.
type Policy struct {
	Name string
	// Central says that one master holds the workers of all groups.
	Central bool
	// Cores is how many slots one worker core has; 0 is one.
	Cores int
	// Acquainted says that workers speak to each other: they are told Members, as
	// distributors are.
	Acquainted bool
	// Helping says that masters hand each other tasks: they are told MasterUp and
	// MasterLost of the others, as distributors are.
	Helping bool
	// Suspending says that tasks are stopped and continued. Simulated, each of the
	// two costs 0.005 cutoffs.
	Suspending     bool
	NewDistributor func(DistributorConfig) Core
	NewMaster      func(MasterConfig) Core
	NewWorker      func(WorkerConfig) Core
}

// Params are the numbers of a policy, the same for all its roles.
type Params struct {
	Cutoff   Time    // a mean task duration up to this is short
	Weight   int     // W; 0 is infinite (strict priority)
	Reserved float64 // share of each group's slots that serve short tasks only
}

// DistributorConfig is what a distributor knows from the start.
type DistributorConfig struct {
	Self   Addr
	Seed   uint64 // of the run; a job's draws come from it and the job's key
	Params Params
}

// MasterConfig is what a master knows from the start.
type MasterConfig struct {
	Self     Addr
	Seed     uint64
	Params   Params
	MaxTasks int  // tasks queued at most, 0 for no limit
	Recover  bool // wait for nodes before launching tasks sent again (section 2.5 of the design)
}

// WorkerConfig is what a worker knows from the start.
type WorkerConfig struct {
	Self     Addr
	Seed     uint64
	Params   Params
	Master   Addr   // of its group
	Seq      uint64 // slot sequence number to go on from
	Reserved bool   // the slot's owner chose that it serves short tasks only
}
