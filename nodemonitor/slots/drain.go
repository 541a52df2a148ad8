package slots

import (
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// # A drain
//
//	up ──Drain──▶ draining ──nothing is left at any worker──▶ drained
//	 ▲               │                                          │
//	 └────Resume─────┴──────────────────Resume──────────────────┘
//
// A draining worker takes nothing new. What waits in its queue goes back at once: a task by a
// result, Yielded, which counts for nothing, and a reservation by a request to which its
// frontend answers that there is no task, and for which it reserves elsewhere. Running and
// suspended attempts continue. A worker at which nothing is left, not even a kept result, is
// withdrawn: snapshots do not list it any more. By then its frontend and master have seen
// everything that happened there, so that none of it can count as lost.

// Drain makes every worker take nothing new, also those that are made later. why is the
// reason in refusals and in attempts that are given back; it replaces that of the present drain.
func (s *Workers) Drain(why string) {
	before := s.admission.draining
	s.admission.draining = why
	if before != "" {
		if before != why {
			s.cfg.Changed()
		}
		return
	}
	s.admission.since = s.cfg.Now()
	for _, w := range s.workers.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			if a.phase == waiting {
				s.giveBack(w, a)
			}
		}
	}
	s.cfg.Changed()
}

// Draining reports whether the workers take nothing new, and whether all are withdrawn.
func (s *Workers) Draining() (draining, drained bool) {
	if s.admission.nothingNew() == "" {
		return false, false
	}
	return true, !slices.ContainsFunc(s.workers.live(), func(w *worker) bool { return !w.withdrawn })
}

// Resume ends a drain: every worker takes tasks again. Where workers are numbered, the
// node has to register again.
func (s *Workers) Resume() {
	s.admission.draining = ""
	s.admission.full = true // slots that refused meanwhile are reported idle again
	for _, w := range s.workers.live() {
		if w.withdrawn {
			w.withdrawn, w.withheld = false, false
			s.cfg.Metrics.count(w, 1)
		}
	}
	s.cfg.Changed()
}

// Withdraw ends the running and suspended attempts at draining workers, gives them back, and
// returns how many there are. Their tasks run elsewhere, and nothing counts against them.
func (s *Workers) Withdraw() (attempts int) {
	for _, w := range s.workers.live() {
		for _, a := range slices.Clone(w.attempts.list) {
			if a.phase == waiting || a.backend == nil || a.cut != "" {
				continue
			}
			a.cut = s.admission.draining
			a.kill()
			attempts++
		}
	}
	s.cfg.Metrics.withdrawn.Add(float64(attempts))
	return attempts
}

// giveBack returns a task that waits in the worker's queue to its frontend, and reports to
// the central scheduler that queued it here that it has left.
func (s *Workers) giveBack(w *worker, a *attempt) {
	id := a.id
	a.cut = s.admission.draining
	s.cfg.Metrics.withdrawn.Inc()
	s.kill(w, sched.Addr{}, &sched.Message{Kind: sched.Kill, Job: id.Job, First: id.Task, Attempt: id.Attempt, Epoch: s.epoch})
	if w.attempts.find(id) != nil || s.cfg.Results.Find(id) != nil {
		return // its core has reported both
	}
	s.refuseDraining(w, &sched.Message{Job: id.Job, First: id.Task, Attempt: id.Attempt})
}

// refuseDraining returns a task that never began to the central scheduler that sent it, which
// sends nothing more to this worker.
func (s *Workers) refuseDraining(w *worker, m *sched.Message) {
	s.cfg.Metrics.refusals[refusedByNode].Inc()
	s.out.toMaster(w, &sched.Message{Kind: sched.Refused, Job: m.Job, First: m.First, Attempt: m.Attempt, Seq: m.Seq, Reason: s.admission.nothingNew()})
}

// handBack returns what a message brings to a draining worker, and reports whether it has:
// all other messages are for the core. Launches that are numbered are denied instead.
func (s *Workers) handBack(w *worker, from sched.Addr, it *wire.Item) bool {
	m := &it.Msg
	switch {
	case s.admission.nothingNew() == "" || s.cfg.Policy.Sequenced:
		return false
	case m.Kind == sched.Launch:
		if w.core.Holds(m.AttemptID()) {
			return false // a repetition
		}
		if from == s.cfg.Master {
			s.refuseDraining(w, m)
			return true
		}
		s.returnTask(w.number, it)
		if w.request.to == from && w.request.seq == m.Seq && w.request.job == m.Job {
			w.request = request{}
			s.cores.step(w, from, &sched.Message{Kind: sched.NoTask, Job: m.Job, Seq: m.Seq})
		}
	case m.Kind == sched.Probe:
		s.returnReservation(w, m.Distributor, m.Job)
	case m.Kind == sched.Stolen || m.Kind == sched.Rotated:
		if m.More == nil {
			return false
		}
		for i := range m.More.Probes {
			s.returnReservation(w, m.More.Probes[i].Distributor, m.More.Probes[i].Job)
		}
	default:
		return false
	}
	return true
}

// returnReservation makes the frontend of a job reserve elsewhere: it answers a request of a
// draining worker with NoTask and probes again. The core knows nothing of that request.
func (s *Workers) returnReservation(w *worker, to sched.Addr, job sched.JobID) {
	s.requests.queue(w, to, &sched.Message{Kind: sched.GetTask, Job: job})
}

// returnTask reports to its frontend that a task which it has bound to a worker of this
// node does not run there: the worker drains, or is gone. It does so by a result, as
// runner.yield does.
func (s *Workers) returnTask(slot int32, it *wire.Item) {
	m := &it.Msg
	s.cfg.Metrics.refusals[refusedByNode].Inc()
	if !s.cfg.Results.CanReport(m.Distributor) {
		return
	}
	s.cfg.Results.Reached(m.Distributor, it.FrontendAddress)
	why := s.admission.nothingNew()
	if why == "" {
		why = fmt.Sprintf("node %s has no slot %d now", s.cfg.Self.Ref.Name, it.To.Slot)
	}
	s.cfg.Results.Keep(m.Distributor, results.Result{ID: m.AttemptID(), Outcome: sched.Yielded, Slot: slot, Reason: why, Secret: it.Secret})
}

// peersLearn is how long the workers of a draining node stay where workers exchange
// messages with frontends and other nodes: these learn meanwhile, by the membership, that
// nothing may be sent there, and what they send until then goes back.
const peersLearn = sched.Second

// isEmpty reports whether nothing runs or is asked for at the worker.
func (w *worker) isEmpty() bool { return len(w.attempts.list) == 0 && w.request.to == (sched.Addr{}) }

// withdrawEmpty withdraws the draining workers at which nothing is left, no result either.
func (s *Workers) withdrawEmpty() {
	if s.admission.draining == "" || s.cfg.Policy.SingleMaster() && s.cfg.Now()-s.admission.since < peersLearn {
		return
	}
	list, at := s.listed()
	if !slices.ContainsFunc(list, (*worker).isEmpty) {
		return
	}
	owes := make([]bool, len(list))
	s.cfg.Results.Each(0, func(_ sched.Addr, r *results.Result) bool {
		owes[keptAt(r.Slot, at)] = true
		return true
	})
	changed := false
	for i, w := range list {
		if owes[i] || !w.isEmpty() {
			continue
		}
		changed, w.withdrawn = true, true
		s.cfg.Metrics.count(w, -1)
		if s.cfg.Policy.SingleMaster() { // its number goes back, too
			delete(s.workers.bySelf, w.self)
			if w.core != nil {
				w.firstSeq = w.core.Slot().Seq // the sequence numbers of a slot never go back
			}
			w.core, w.self = nil, sched.Addr{}
		}
	}
	if changed {
		s.cfg.Changed()
	}
}
