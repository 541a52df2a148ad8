package nodemonitor

import (
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// ended gives a slot's core the end of its attempt.
func (o *owner) ended(s *slot, r *backend.Result) {
	if s.run == nil || s.run.id != r.ID {
		o.meter.ignored.Inc()
		return
	}
	if o.stopping && r.Outcome == sched.Killed && !s.run.killed {
		r.Outcome, r.Reason = sched.Lost, backend.Stopping // nobody asked for its end: it is to run elsewhere
	}
	s.ended = r
	o.message = sched.Message{
		Kind: sched.Ended, Job: r.ID.Job, First: r.ID.Task, Attempt: r.ID.Attempt, Outcome: r.Outcome, Reason: r.Reason,
	}
	o.step(s, sched.Addr{}, &o.message)
	if !s.run.twin {
		delete(o.runs, r.ID)
	}
	s.ended, s.run, s.store = nil, nil, running{}
	if s.leaving {
		o.removeSlot(s)
	}
}

// reported keeps the result of the attempt whose end is being stepped.
func (o *owner) reported(s *slot, a *sched.Action) {
	if s.run.twin {
		o.again(s.run.id)
		return
	}
	f := o.frontendOf(a.To)
	if f == nil || s.ended == nil {
		return // objection has refused such a launch
	}
	r := s.ended
	kept := result{
		id: r.ID, outcome: a.Msg.Outcome, slot: s.number, reason: a.Msg.Reason, tail: r.Tail, exit: r.ExitCode, started: r.Started, finished: r.Finished,
		trace: o.spans.ran(o.self.Name, s, r),
	}
	if !r.Started.IsZero() {
		kept.elapsed = max(r.Finished.Sub(r.Started), 0)
		o.meter.ran[s.run.class].Observe(kept.elapsed.Seconds())
	}
	o.meter.ended[a.Msg.Outcome].Inc()
	o.keep(f, kept)
}
