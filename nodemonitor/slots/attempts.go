package slots

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// attempts counts the attempts at all workers and reuses their records.
type attempts struct {
	cfg     *Config
	running results.Running
	started map[sched.AttemptID]*attempt // by their workers' cores
	unused  []*attempt                   // so that a task costs no allocation
	workers *workerList
}

// admit makes an attempt for a launch that arrived at an instant.
func (s *attempts) admit(w *worker, it *wire.Item, at time.Time) *attempt {
	var a *attempt
	if n := len(s.unused); n > 0 {
		a = s.unused[n-1]
		s.unused = s.unused[:n-1]
	} else {
		a = new(attempt)
	}
	*a = attempt{
		Extra: it.Extra, id: it.Msg.AttemptID(), class: it.Msg.Class, app: it.Msg.App, distributor: it.Msg.Distributor, owner: it.Msg.Owner, estimate: it.Msg.Estimate,
		received: at, worker: w, apart: it.Msg.Marks.Has(sched.Apart),
	}
	if a.MaxDisconnect > 0 {
		_, a.lapses = s.cfg.Contact()
	}
	a.limits = s.cfg.Limits.of(a)
	a.unbegun = a.mattersWhenItBegins()
	w.attempts.add(a)
	s.running.Count(a.distributor, 1)
	s.cfg.Metrics.launches.Inc()
	return a
}

// drop forgets an attempt that is no longer at its worker. At most one record for each
// worker is kept for reuse.
func (s *attempts) drop(a *attempt) {
	s.enter(a, waiting)
	if s.started[a.id] == a {
		delete(s.started, a.id)
	}
	a.worker.attempts.remove(a)
	s.running.Count(a.distributor, -1)
	*a = attempt{}
	if len(s.unused) < len(s.workers.all) {
		s.unused = append(s.unused, a)
	}
}

// enter puts the attempt into a phase and keeps count of the slots by state.
func (s *attempts) enter(a *attempt, p phase) {
	w := a.worker
	before := w.running
	if a.phase == running {
		w.running--
		a.ran = a.service()
	}
	if p == running {
		w.running++
		a.since = time.Now()
	}
	a.paused = a.paused || p == suspended
	s.cfg.Metrics.slots[w.counted][busy] += w.running - before
	s.cfg.Metrics.slots[w.counted][idle] -= w.running - before
	a.phase = p
	if a.limits.Time > 0 {
		s.watchTime(a)
	}
}

// manyAttempts is how many attempts are searched one by one; a longer list has an index.
const manyAttempts = 16

// attemptList is the attempts at one worker: few, except where a central scheduler
// queues long work at the workers.
type attemptList struct {
	list []*attempt                   // in the order of their arrival
	byID map[sched.AttemptID]*attempt // nil while there are few
}

// find returns the attempt with that id, nil when there is none.
func (l *attemptList) find(id sched.AttemptID) *attempt {
	if l.byID != nil {
		return l.byID[id]
	}
	for _, a := range l.list {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (l *attemptList) add(a *attempt) {
	l.list = append(l.list, a)
	switch {
	case l.byID != nil:
		l.byID[a.id] = a
	case len(l.list) > manyAttempts:
		l.byID = make(map[sched.AttemptID]*attempt, 2*len(l.list))
		for _, a := range l.list {
			l.byID[a.id] = a
		}
	}
}

func (l *attemptList) remove(a *attempt) {
	i := slices.Index(l.list, a)
	l.list = slices.Delete(l.list, i, i+1)
	if delete(l.byID, a.id); len(l.list) == 0 {
		l.byID = nil
	}
}
