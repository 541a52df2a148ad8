package sched

// More is attached to messages of the published rivals: the state that they spread. A
// message carries a pointer to one, which may be shared by many messages and is never
// changed once sent.
type More struct {
	Members   []Member // Members: the cluster
	Probes    []Probed // Stolen, Rotated: reservations in transit
	Bits      []uint64 // eagle: bitmap over worker numbers
	Stamp     Time     // eagle: when Bits was drawn, by the drawer's clock; peacock, in Rotated: the age of Load
	Threshold Time     // peacock: average load at the job's arrival
	Load      Load     // peacock: the shared state, or a change of it
	Slots     []Attained
	Shares    []Share // SetShares
	HalfLife  Time    // SetShares: of the long class's memory of an owner's use; 0: none
}

// valid is [Message.Valid] for the messages of workers and masters. The list of members
// comes from the shell alone and is long: a core that keeps tables by it checks it itself.
func (m *More) valid() bool {
	for i := range m.Probes {
		if p := &m.Probes[i]; p.Class >= NumClasses || p.Count < 0 || p.Count > MaxTasks {
			return false
		}
	}
	return true
}

// Share is what an owner, with all owners below it, is entitled to among those with the
// same parent. Owners that no share names have weight 1.
type Share struct {
	Owner  string  // a path such as "team" or "team/alice"
	Weight float64 // above 0
	Max    float64 // at most this share of a group's workers at a time; 0: no limit
	Min    float64 // served first while it has less than this share of them; 0: never
}

// Member is one live worker of the cluster.
type Member struct {
	Worker Addr
	Master Addr   // of its group, zero without one
	Node   string // its id
	// Draining is set for a worker that takes nothing new; tasks that run there are not lost.
	Draining bool `json:",omitempty"`
}

// Probed is a reservation that moves from worker to worker.
type Probed struct {
	Job         JobID
	Distributor Addr `json:"Owner"`
	Class       Class
	Count       int32 // tasks of the job not launched yet, as last known
	App         string
	Estimate    Time
	Arrival     Time
	Threshold   Time
}

// Load is the state that Peacock's schedulers share: sums over all workers.
type Load struct {
	Queued int64 // tasks queued or running
	Work   Time  // sum of their estimates
}

// Attained is one task at a node in a Beat: how long it has run.
type Attained struct {
	ID      AttemptID
	Service Time
	Running bool
}
