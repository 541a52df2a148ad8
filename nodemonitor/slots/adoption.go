package slots

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Adoption is an attempt that an earlier process of the node has started.
type Adoption struct {
	Launch    *wire.Item // as in its note
	Backend   backend.Backend
	Ran       time.Duration // without suspensions
	Began     bool          // its program has
	Suspended bool
}

// launch returns the launch of an attempt, for its note.
func (a *attempt) launch(cfg *Config) *wire.Item {
	return &wire.Item{
		From: cfg.MasterRef, To: a.worker.ref, Extra: a.Extra,
		Msg: sched.Message{
			Kind: sched.Launch, Job: a.id.Job, First: a.id.Task, Attempt: a.id.Attempt, Class: a.class, App: a.app,
			Distributor: a.distributor, Owner: a.owner, Estimate: a.estimate,
		},
	}
}

// Continues returns the launch of an attempt that has started and how long it has run,
// false when there is none.
func (s *Workers) Continues(id sched.AttemptID) (launch *wire.Item, ran time.Duration, found bool) {
	a := s.attempts.started[id]
	if a == nil {
		return nil, 0, false
	}
	return a.launch(&s.cfg), a.service(), true
}

// In counts the attempts that a backend runs.
func (s *Workers) In(b backend.Backend) (n int) {
	for _, a := range s.attempts.started {
		if a.backend == b {
			n++
		}
	}
	return n
}

// Continue enters an attempt that an earlier process has started, before any launch is
// accepted. It returns the task and what the backend calls with its end; the error is why the
// attempt has no place here. Restore follows.
func (s *Workers) Continue(c *Adoption) (backend.Task, func(backend.Result), error) {
	it := c.Launch
	id, number := it.Msg.AttemptID(), it.To.Slot
	var w *worker
	if number >= 0 && int(number) < len(s.workers.all) {
		w = s.workers.all[number]
	}
	switch {
	case w == nil:
		return backend.Task{}, nil, fmt.Errorf("the node has no slot %d now", number)
	case s.attempts.started[id] != nil:
		return backend.Task{}, nil, fmt.Errorf("it is in slot %d already", s.attempts.started[id].worker.number)
	case !c.Suspended && w.running >= w.slots:
		return backend.Task{}, nil, fmt.Errorf("slot %d runs another attempt", number)
	case !s.cfg.Results.CanReport(it.Msg.Distributor):
		return backend.Task{}, nil, errors.New("it names no frontend")
	}
	a := s.attempts.admit(w, it, time.Now())
	a.continued, a.backend, a.ran, a.unbegun = true, c.Backend, c.Ran, a.unbegun && !c.Began
	phase := running
	if c.Suspended {
		phase = suspended
	}
	s.attempts.enter(a, phase)
	s.attempts.started[id] = a
	s.cores.run.fence.pass(id)
	t := a.task()
	t.Began = s.attempts.reportsBegin(a)
	return t, w.done, nil
}

// Restore enters the attempts that continue into the cores of the workers. A worker that has
// no core yet follows when it has one.
func (s *Workers) Restore() {
	for _, w := range s.workers.live() {
		if w.core != nil {
			s.restore(w)
		}
	}
}

// restore steps the launches of a worker's attempts once more: its core starts each, which
// turns out to be started already, and first suspends the earlier ones for it, as a master
// would have ordered.
func (s *Workers) restore(w *worker) {
	list := slices.Clone(w.attempts.list)
	slices.SortStableFunc(list, func(a, b *attempt) int { return int(b.phase) - int(a.phase) }) // the running one last
	for i, a := range list {
		if !a.continued {
			continue
		}
		m := a.launch(&s.cfg).Msg
		m.Seq = w.core.Slot().Seq
		if i > 0 {
			m.Kind, m.Seq, m.Kept = sched.Preempt, m.Seq-1, []sched.AttemptID{list[i-1].id}
		}
		was := a.phase
		s.cores.step(w, s.cfg.Master, &m)
		if a.phase == running && was == suspended && i == len(list)-1 {
			s.cores.run.suspend(a, false) // nothing runs in its place now
		}
		if !w.core.Holds(a.id) {
			telemetry.LogTrace(s.cfg.Log, telemetry.Carrier(a.Trace)).Error("an attempt of an earlier process has no place in its slot and is killed", "attempt", a.id, "slot", w.number)
			a.kill()
		}
	}
}

// Started returns what is remembered of the attempts that were started here.
func (s *Workers) Started() Starts {
	f := s.cores.run.fence
	return Starts{f.seed, slices.Collect(maps.Keys(f.started)), slices.Collect(maps.Keys(f.before))}
}

// Remember prevents a second start of the attempts that an earlier process has started. It is
// called before Continue.
func (s *Workers) Remember(started Starts) {
	f := s.cores.run.fence
	f.seed, f.before = started.Seed, make(map[uint64]bool, len(started.Before))
	for _, h := range started.Before {
		f.before[h] = true
	}
	for _, h := range started.Now {
		f.started[h] = true
	}
}

// Starts is the attempts that a node remembers to have started, as hashes.
type Starts struct {
	Seed        uint64
	Now, Before []uint64
}
