package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// wide is what a master keeps for tasks of several slots and for gangs; it is nil until the first
// of them comes. docs/policies.md has the rules.
//
//	claims.go    which slots are held back, and for whom
//	backfill.go  what may run on them meanwhile
//	gangs.go     jobs whose tasks start together
//
// While it exists, a slot that becomes free is first kept apart from the idle lists. A turn then
// fills the claims that can be, oldest first, and gives every kept slot that no claim holds its next
// task. A slot that a claim holds stays kept. No slot is bound to a claim: what a claim holds is
// computed from the free slots at every turn.
type wide struct {
	*Master
	claims []*claim  // oldest first
	kept   []*worker // free and in no idle list, in the order in which they became free
	facts  map[*queue.Job]*needs
	passed []passed // demands that can neither start nor claim at this turn
	freed  *node    // of the slot that became free last
	check  bool     // slots came, went or changed: claims may be at nodes that cannot fill them
	ends   []sched.Time
}

// needs are the facts about a job with a demand.
type needs struct {
	claimed   int32 // tasks with a claim, which have left the queue
	following int32 // slots of its tasks beside those that lead
	size      int32 // of a gang: tasks that start together
}

// passed is a demand that is passed over as one.
type passed struct {
	app   *queue.App
	class sched.Class
}

// wideSlot is the part of a worker's record for tasks of several slots.
type wideSlot struct {
	kept    bool            // it is free, and in no idle list
	follows sched.AttemptID // the attempt that another slot of its node leads
	of      *queue.Job      // whose attempt that is, nil where the master does not know
}

func (w *worker) isFree() bool { return w.kept || w.Listed() }

// isUnit reports whether the job's tasks take one slot each, and start one by one.
func isUnit(j *queue.Job) bool { return j.App().IsUnit() }

// meetWide prepares for the first job with a demand.
func (s *Master) meetWide(j *queue.Job, size int32) {
	if isUnit(j) {
		return
	}
	s.openWide()
	f := s.wide.facts[j]
	if f == nil {
		f = &needs{}
		s.wide.facts[j] = f
	}
	if size > 0 {
		f.size = size
	}
}

func (s *Master) openWide() {
	if s.wide == nil {
		s.wide = &wide{Master: s, facts: make(map[*queue.Job]*needs)}
	}
}

// holds reports whether the job has tasks here that neither wait in the queue nor lead a slot.
func (x *wide) holds(j *queue.Job) bool {
	f := x.facts[j]
	return f != nil && f.claimed+f.following > 0
}

// keep takes a free slot out of the idle lists until the turn has decided about it.
func (x *wide) keep(w *worker) {
	x.index.RemoveIdle(&w.Idler)
	if !w.kept {
		w.kept = true
		x.kept = append(x.kept, w)
		x.freed = w.node
	}
}

// unkeep forgets that a slot is kept.
func (x *wide) unkeep(w *worker) {
	if x != nil && w.kept {
		w.kept = false
		x.kept = slices.DeleteFunc(x.kept, func(o *worker) bool { return o == w })
	}
}

// isActive reports whether free slots are kept until a turn.
func (x *wide) isActive() bool { return len(x.claims) > 0 || x.index.Wide() }

// turn decides about all free slots, at the end of a step.
func (x *wide) turn(out *sched.Actions) {
	if !x.isActive() && len(x.kept) == 0 {
		return
	}
	x.passed = x.passed[:0]
	x.tidy()
	for x.move(); x.fill(out) || x.arrived() || x.release(out) || x.backfill(out); {
	}
}

// release gives a kept slot that no claim holds its next task; false when there is none.
func (x *wide) release(out *sched.Actions) bool {
	for _, w := range x.kept {
		if !x.isHeld(w) {
			if !x.serveWide(w) {
				x.unkeep(w)
				x.serve(w, out)
			}
			return true
		}
	}
	return false
}

// serveWide starts, or claims slots for, the task with a demand that the slot would serve next; false
// when a unit task comes first, or nothing waits that can start or claim.
func (x *wide) serveWide(w *worker) bool {
	for _, c := range x.classOrder(w) {
		unit := x.index.First(w.service, c)
		for {
			r := x.index.FirstWide(c, x.isPassed)
			if r == nil || unit != nil && x.index.Before(unit, r) {
				break
			}
			if x.startOrClaim(r) {
				return true
			}
			x.passed = append(x.passed, passed{r.Job.App(), c})
		}
		if unit != nil {
			return false
		}
	}
	return false
}

// arrived starts, or claims slots for, tasks with a demand while a general slot is idle for which, as
// it is, no unit task waits.
func (x *wide) arrived() bool {
	if x.index.Idle(sched.General) == 0 {
		return false
	}
	for c := range sched.Class(sched.NumClasses) {
		for r := x.index.FirstWide(c, x.isPassed); r != nil; r = x.index.FirstWide(c, x.isPassed) {
			if x.startOrClaim(r) {
				return true
			}
			x.passed = append(x.passed, passed{r.Job.App(), c})
		}
	}
	return false
}

// classOrder returns the classes in the order in which a free slot serves them.
func (x *wide) classOrder(w *worker) []sched.Class {
	switch {
	case w.reserved || len(w.held) > 0:
		return []sched.Class{sched.Short}
	case x.weight.longIsDue() && x.index.Queued(sched.Long) > 0:
		return []sched.Class{sched.Long, sched.Short}
	}
	return []sched.Class{sched.Short, sched.Long}
}

func (x *wide) isPassed(a *queue.App, c sched.Class) bool {
	return slices.Contains(x.passed, passed{a, c})
}

// startOrClaim starts the first task of a run, or its whole gang, or claims slots for it; false when
// it can do neither now.
func (x *wide) startOrClaim(r *queue.Run) bool {
	switch j := r.Job; {
	case !x.mayLaunchWide(j):
		return false
	case j.App().Demand.Gang:
		return x.claimGang(r)
	default:
		return x.claim(r)
	}
}

// mayLaunchWide reports whether no max forbids launching a task of the job. One that is wider than
// what its owner may have runs alone.
func (x *wide) mayLaunchWide(j *queue.Job) bool {
	return x.index.Tree().MayLaunchSlots(j.Owner(), int32(j.App().Demand.Width())) //nolint:gosec // at most sched.MaxSlots
}

// launchWide sends a task to slots of one node. The first of them in order of registration leads.
func (x *wide) launchWide(slots []*worker, t work, out *sched.Actions) {
	lead, f := slots[0], x.facts[t.job]
	for _, w := range slots {
		x.index.RemoveIdle(&w.Idler)
		x.unkeep(w)
	}
	for _, w := range slots[1:] {
		m := x.message(sched.Launch, w, t, out)
		m.Companion = true
		w.follows, w.of = t.id(), t.job
		f.following++
		x.chargeFor(w, t.job, t.class, false)
	}
	x.launch(sched.Launch, lead, t, out)
	if t.class == sched.Long {
		x.weight.passed = 0
	} else if x.index.Queued(sched.Long) > 0 {
		x.weight.passed += len(slots)
	}
}

// unfollow records that a slot no longer is beside one that leads.
func (x *wide) unfollow(w *worker, out *sched.Actions) {
	if x == nil || w.follows.Attempt == 0 {
		return
	}
	j := w.of
	w.follows, w.of = sched.AttemptID{}, nil
	x.closeBill(&w.bill, false)
	if j != nil {
		x.facts[j].following--
		x.forgetUnheld(j, out)
	}
}

// eachClaimed calls f for the tasks of the job with a claim.
func (x *wide) eachClaimed(j *queue.Job, f func(first, count, attempt int32)) {
	if x == nil {
		return
	}
	for _, c := range x.claims {
		if c.job == j && c.node != nil {
			f(c.task, 1, c.attempt)
		}
	}
}

// claimed returns how many tasks of the job have a claim.
func (x *wide) claimed(j *queue.Job) int {
	if x == nil || x.facts[j] == nil {
		return 0
	}
	return int(x.facts[j].claimed)
}

// changed records that slots of the group have changed.
func (x *wide) changed() {
	if x != nil {
		x.check = true
	}
}

// forgetUnheld forgets a job if that was its last task here.
func (x *wide) forgetUnheld(j *queue.Job, out *sched.Actions) {
	if j.Queued+j.Running == 0 {
		x.forget(j.ID, out)
	}
}

// companionRefused withdraws an attempt of which a slot beside the lead refused the launch; false when
// the slot was none.
func (x *wide) companionRefused(w *worker, m *sched.Message, out *sched.Actions) bool {
	id := m.AttemptID()
	if x == nil || w.follows != id {
		return false
	}
	x.counts.Refused++
	w.bill.since = x.now // it never ran
	x.unfollow(w, out)
	for _, lead := range w.node.slots {
		if lead.job != nil && lead.id() == id {
			y := out.Send(lead.addr, sched.Yield)
			y.Job, y.First, y.Attempt, y.Epoch = id.Job, id.Task, id.Attempt, x.epoch
		}
	}
	return true
}

// leadRefused frees the slots beside one that refused the launch.
func (x *wide) leadRefused(w *worker, id sched.AttemptID, out *sched.Actions) {
	if x == nil {
		return
	}
	for _, o := range w.node.slots {
		if o.follows == id {
			x.kill(o, id, out)
		}
	}
}

// adoptCompanion records a registering slot beside one that leads. One whose lead is not there is
// freed: the launch of the lead was refused.
func (s *Master) adoptCompanion(w *worker, m *sched.Message, out *sched.Actions) {
	w.seq -= min(w.seq, 1)
	id := m.AttemptID()
	at := slices.IndexFunc(w.node.slots, func(o *worker) bool { return o.job != nil && o.id() == id })
	w.follows = id
	if s.openWide(); at < 0 {
		s.kill(w, id, out)
		return
	}
	w.of = w.node.slots[at].job
	s.meetWide(w.of, 0)
	if s.wide.facts[w.of] == nil { // the lead was not known to be wide
		w.of = nil
		return
	}
	s.wide.facts[w.of].following++
	s.chargeFor(w, w.of, m.Class, false)
}
