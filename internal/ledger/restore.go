package ledger

import "github.com/pigeon-sched/pigeon/internal/sched"

// How long a restarted distributor waits for the daemons that may hold its unfinished tasks
// (docs/adr/0017-attempt-identity.md).
const (
	// ReportsWithin is how long after the answer of a master, or after the first membership,
	// nodes may still report: the master may have been restarted as well, and they register
	// within a second.
	ReportsWithin = 2 * sched.Second
	// HeldAgain is how long a task that only a worker has reported is left there without
	// another report: workers report every 5 s.
	HeldAgain = 12 * sched.Second
)

// Restore enters one journal record (Placed, NewAttempt, NotLost, TaskEnded, Reclass) of a
// job that was submitted before it. Records of unknown jobs are ignored: the job ended
// later in the same journal. A loss counts as of now.
func (l *Ledger) Restore(now sched.Time, m *sched.Message) {
	j := l.jobs[m.Job]
	if j == nil || !j.Has(m.First) {
		return
	}
	switch m.Kind {
	case sched.Placed:
		if m.Peer.ID < 0 || m.Peer.ID > MaxMaster {
			return
		}
		for i := m.First; i-m.First < m.Count && j.Has(i); i++ {
			j.Place(i, int16(m.Peer.ID))
			j.Tasks[i].Marks |= m.Marks & sched.Moved
		}
	case sched.Reclass:
		j.turn(m.Class)
	case sched.NewAttempt:
		restoreLoss(now, j, m)
		for i := m.First; i-m.First < max(1, m.Count) && j.Has(i); i++ {
			t := &j.Tasks[i]
			t.Attempt, t.Losses, t.Retried = max(t.Attempt, m.Attempt), m.Losses, m.Retries
			t.Marks |= m.Marks & sched.Apart
		}
	case sched.NotLost:
		j.takeBack(m.First, func(x *loss) bool { return x.node == m.Node })
	case sched.TaskEnded:
		if result := m.Outcome == sched.Done || m.Outcome == sched.Failed || m.Outcome == sched.Killed; result && j.Tasks[m.First].Outcome == sched.Unfinished {
			l.applyResult(j, m.First, m.Outcome, m.Reason)
		}
	}
}

// CloseRestored ends the jobs all of whose results were in the journal while
// their own end was not: the process died between the two.
func (l *Ledger) CloseRestored(out *sched.Actions) {
	l.Each(func(j *Job) {
		if j.unfinished == 0 {
			l.close(j, out)
		}
	})
}
