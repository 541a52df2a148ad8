package peacock

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// share is a distributor's knowledge of the shared state: its own jobs, and what
// the others last sent about theirs. Each sends its whole part and not the change,
// so a repeated update does no harm.
type share struct {
	jobs  map[sched.JobID]*part // of the own part
	own   sched.Load
	peers []sched.Load // by distributor id
	all   sched.Load   // own and all peers
}

// part is what a job adds to the shared state.
type part struct {
	tasks     int64 // unfinished
	estimate  sched.Time
	threshold sched.Time // of its probes
	probed    bool       // one was sent: threshold is fixed
}

func newShare() share { return share{jobs: make(map[sched.JobID]*part)} }

// enter counts a job with that many tasks, and reports whether that changes anything.
func (s *share) enter(id sched.JobID, tasks int64, estimate sched.Time) bool {
	p := s.jobs[id]
	if p == nil {
		p = &part{estimate: estimate}
		s.jobs[id] = p
	}
	more := tasks - p.tasks
	p.tasks = tasks
	s.add(more, estimate)
	return more != 0
}

// ended subtracts one task of a job; false when the job is not counted.
func (s *share) ended(id sched.JobID) bool {
	p := s.jobs[id]
	if p == nil {
		return false
	}
	p.tasks--
	s.add(-1, p.estimate)
	return true
}

// forget subtracts all that is left of a job, and reports whether anything
// was left.
func (s *share) forget(id sched.JobID) bool {
	p := s.jobs[id]
	if p == nil {
		return false
	}
	s.add(-p.tasks, p.estimate)
	delete(s.jobs, id)
	return p.tasks != 0
}

func (s *share) add(tasks int64, estimate sched.Time) {
	s.own = plusLoad(s.own, tasks, sched.Time(tasks)*estimate)
	s.all = plusLoad(s.all, tasks, sched.Time(tasks)*estimate)
}

func plusLoad(l sched.Load, queued int64, work sched.Time) sched.Load {
	return sched.Load{Queued: l.Queued + queued, Work: l.Work + work}
}

// send sends this distributor's part to the others.
func (s *share) send(out *sched.Actions) {
	m := out.Send(sched.Addr{Role: sched.Distributor, ID: sched.Everyone}, sched.LoadShare)
	m.More = &sched.More{Load: s.own}
}

// recordPeer records the part of another distributor.
func (s *share) recordPeer(from sched.Addr, m *sched.Message) {
	if from.Role != sched.Distributor || from.ID < 0 || from.ID > sched.MaxID || m.More == nil {
		return
	}
	if grow := int(from.ID) + 1 - len(s.peers); grow > 0 {
		s.peers = append(s.peers, make([]sched.Load, grow)...)
	}
	peer, l := &s.peers[from.ID], m.More.Load
	s.all = plusLoad(s.all, l.Queued-peer.Queued, l.Work-peer.Work)
	*peer = l
}

// threshold returns that of a job's probes, which the first of them fixes.
func (s *share) threshold(id sched.JobID, now sched.Time) sched.Time {
	p := s.jobs[id]
	if p == nil {
		return now
	}
	if !p.probed {
		p.threshold, p.probed = now, true
	}
	return p.threshold
}
