package measure

import "github.com/pigeon-sched/pigeon/internal/sched"

// State is what the cores of a run held at the most, by role. It is measured
// at stateLooks instants, evenly spread over the arrivals.
type State struct {
	Frontend RoleState `json:"frontend"` // of frontends
	Master   RoleState `json:"master"`   // of masters
	Worker   RoleState `json:"worker"`   // of workers
}

// RoleState is the state of one role.
type RoleState struct {
	Bytes   int64  `json:"bytes"`             // memory of the core that held the most
	Entries int64  `json:"entries"`           // elements of lists and tables of the core that held the most: jobs, queued tasks, reservations, known workers
	All     int64  `json:"bytes_in_all"`      // memory of all cores of the role
	Sent    Number `json:"messages_per_task"` // messages that the role sends
}

// ByRole returns a role's part, nil for one that has none.
func (s *State) ByRole(r sched.Role) *RoleState {
	switch r {
	case sched.Distributor:
		return &s.Frontend
	case sched.Master:
		return &s.Master
	case sched.Worker:
		return &s.Worker
	}
	return nil
}

// Roles returns the roles of State, in its order.
func Roles() []sched.Role { return []sched.Role{sched.Distributor, sched.Master, sched.Worker} }

// stateLooks bounds how often the cores are measured: to walk the memory of
// thousands of cores takes longer than to run them for a while.
const stateLooks = 32

// StatePeak is the Inspector of a simulated run; it measures the state of the cores.
type StatePeak struct {
	State State
	every int
}

// NewStatePeak returns a StatePeak for a run with the given number of jobs.
func NewStatePeak(jobs int) *StatePeak { return &StatePeak{every: max(1, jobs/stateLooks)} }

// Arrived implements sim.Inspector.
func (p *StatePeak) Arrived(jobs int, cores func(sched.Role) []sched.Core) {
	if jobs%p.every != 0 {
		return
	}
	for _, role := range Roles() {
		of, all := p.State.ByRole(role), int64(0)
		for _, c := range cores(role) {
			bytes, entries := Footprint(c)
			of.Bytes, of.Entries = max(of.Bytes, bytes), max(of.Entries, entries)
			all += bytes
		}
		of.All = max(of.All, all)
	}
}
