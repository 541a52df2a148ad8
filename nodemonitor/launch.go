package nodemonitor

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// launch gives a slot's core a launch. What only the shell can know against it is
// put as a launch made on outdated knowledge, which the core refuses; so the
// slot's sequence number moves on and a recording tells all.
func (o *owner) launch(s *slot, it *wire.Item, at time.Time) {
	s.launch, s.at = it, at
	if id, busy := s.core.Running(); !busy || id != it.Msg.AttemptID() {
		s.refusal = o.objection(it)
	}
	if s.refusal != "" {
		it.Msg.Seq = ^s.core.Seq()
	}
	if !s.held {
		s.frozen = s.core.Seq()
	}
	o.step(s, o.master, &it.Msg)
	s.launch, s.refusal, s.refused = nil, "", false
}

// objection is the shell's reason to refuse a launch, "" for none.
func (o *owner) objection(it *wire.Item) string {
	switch {
	case o.stopping:
		return "the node monitor is stopping"
	case o.frontendOf(it.Msg.Owner) == nil:
		return fmt.Sprintf("node %q cannot tell whom to report to", o.self.Name)
	case !o.results.room(len(o.runs)):
		o.full = true
		return fmt.Sprintf("node %q keeps %d results (%d bytes) that their frontends have not acknowledged, its limit (max_results, max_result_bytes)",
			o.self.Name, len(o.results.index), o.results.bytes)
	}
	return ""
}

// refused sends a launch back to the master.
func (o *owner) refused(s *slot, m *sched.Message) {
	if s.refusal != "" {
		m.Reason = s.refusal
	}
	o.meter.refusals[s.whyRefused()].Inc()
	s.refused = true
	o.forMaster = append(o.forMaster, wire.Item{From: s.ref, To: o.masterRef, Msg: *m})
}

// whyRefused tells a refusal that the core has just made, in the order in which it
// looks.
func (s *slot) whyRefused() int {
	switch m := &s.launch.Msg; {
	case s.refusal != "":
		return refusedByNode
	case m.Epoch < s.core.Epoch():
		return refusedEpoch
	case s.run != nil:
		return refusedBusy
	case m.Seq+1 != s.core.Seq():
		return refusedSeq
	default:
		return refusedReserved
	}
}

// refuseMissing refuses a launch at a slot that is not there any more; the next
// snapshot tells the master so.
func (o *owner) refuseMissing(it *wire.Item) {
	reason := fmt.Sprintf("node %q has no slot %d now", o.self.Name, it.To.Slot)
	o.meter.refusals[refusedByNode].Inc()
	m := sched.Message{Kind: sched.Refused, Job: it.Msg.Job, First: it.Msg.First, Attempt: it.Msg.Attempt, Seq: it.Msg.Seq, Reason: reason}
	o.forMaster = append(o.forMaster, wire.Item{From: it.To, To: o.masterRef, Msg: m})
}

// release tells the master of the slots that were held back, once there is room.
func (o *owner) release() {
	if o.stopping || !o.results.room(len(o.runs)) {
		return
	}
	o.full = false
	for _, s := range o.live() {
		if s.held {
			s.held = false
			o.forMaster = append(o.forMaster, wire.Item{From: s.ref, To: o.masterRef, Msg: sched.Message{Kind: sched.Idle, Seq: s.core.Seq()}})
		}
	}
}

// start runs the launch that is being stepped.
func (o *owner) start(s *slot) {
	it := s.launch
	f := o.frontendOf(it.Msg.Owner)
	o.reached(f, it.OwnerAddress)
	s.store = running{
		Extra: it.Extra, id: it.Msg.AttemptID(), class: it.Msg.Class, app: it.Msg.App, owner: it.Msg.Owner, received: s.at,
	}
	s.run = &s.store
	o.meter.launches.Inc()
	if o.known(s.run.id) {
		// The attempt runs in another slot, or its result is kept: a master that
		// was told so too late. It is not run twice.
		s.run.twin = true
		s.done(backend.Result{ID: s.run.id, Outcome: sched.Done})
		return
	}
	o.runs[s.run.id] = s
	t := s.task(it)
	b := o.backends[t.Payload.Backend]
	if b == nil {
		s.done(backend.Result{ID: t.ID, Outcome: sched.Failed, Reason: o.noBackend(&t)})
		return
	}
	s.run.backend = b
	b.Start(t, s.done)
}

func (o *owner) known(id sched.AttemptID) bool {
	if _, kept := o.results.index[id]; kept {
		return true
	}
	_, runs := o.runs[id]
	return runs
}

// task gives what a backend is to run.
func (s *slot) task(it *wire.Item) backend.Task {
	return backend.Task{
		ID: s.run.id, JobName: it.JobName, TaskName: it.TaskID(it.Msg.First, 0), App: it.Msg.App, User: it.User,
		HT: it.Msg.Class == sched.Short, Owner: it.SchedulerAddress, Slot: s.number, Payload: it.Payload(0),
	}
}

func (o *owner) noBackend(t *backend.Task) string {
	return (&api.Error{
		What: fmt.Sprintf("there is no backend %q", t.Payload.Backend), Subject: t.Subject(),
		Tried: fmt.Sprintf("starting it on node %q", o.self.Name), Next: "run the same version of pigeon on all hosts",
	}).Error()
}

// kill stops what the slot runs; its end comes as an event.
func (o *owner) kill(s *slot) {
	if s.run != nil && s.run.backend != nil {
		s.run.killed = true
		s.run.backend.Kill(s.run.id)
	}
}

// hold suspends or resumes what the slot runs, where its backend can.
func (o *owner) hold(s *slot, kind sched.ActionKind) {
	if s.run == nil {
		return
	}
	b, can := s.run.backend.(backend.Suspender)
	if !can {
		return
	}
	act := b.Suspend
	if kind == sched.Resume {
		act = b.Resume
	}
	if err := act(s.run.id); err != nil {
		o.log.Debug("an attempt ended before it could be held or continued", "attempt", s.run.id, "error", err)
	}
}
