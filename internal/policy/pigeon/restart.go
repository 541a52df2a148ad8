package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A restarted distributor does not send the tasks of its journal again: masters and
// workers report which of them they hold. Unreported tasks get new numbers, because a
// task that was sent before may have been launched (docs/adr/0017-attempt-identity.md).
//
//	Restored ── MasterUp ──▶ Holding ... end marker ──2 s──▶ tasks of that group, and
//	                         Held                            those of no known group, that
//	                                                         no daemon holds: new attempts

// answerWithin is how long a master may take to answer. One of an earlier version never does.
const answerWithin = 10 * sched.Second

// The tokens of a distributor's timers. Those that end the wait for reports are numbered
// from the last one on.
const (
	retryToken = 0              // for returned tasks
	dueToken   = ledger.NextDue // for tasks that wait for their next attempt
	lastToken  = dueToken
)

// confirmation is what a restarted distributor remembers while it waits for reports.
type confirmation struct {
	open    bool   // tasks of an earlier life may be unconfirmed, or of an unknown group
	token   uint64 // of the last timer
	workers uint64 // token of the timer for tasks that only workers have reported
}

// answer is the state of a master's answer about tasks of an earlier life.
type answer struct {
	met   bool   // it was reached in this life
	early bool   // it reported before it was reached
	ended bool   // its end marker came
	token uint64 // of the timer after which its tasks are settled, 0 for none
}

func (d *Distributor) timerFor(at sched.Time, out *sched.Actions) uint64 {
	d.confirmation.token = max(d.confirmation.token, lastToken) + 1
	out.Timer(at, d.confirmation.token)
	return d.confirmation.token
}

// await waits for the reports of a group that has just been reached.
func (d *Distributor) await(now sched.Time, g *group, out *sched.Actions) {
	wait := answerWithin
	if g.answer.ended {
		wait = ledger.ReportsWithin
	}
	g.answer.token = d.timerFor(now+wait, out)
}

// answered processes the end marker of a master's answer.
func (d *Distributor) answered(now sched.Time, from sched.Addr, out *sched.Actions) {
	g := d.group(from)
	if g == nil {
		return
	}
	g.answer.ended = true
	if d.restored && d.confirmation.open && g.answer.token != 0 {
		d.await(now, g, out)
	}
}

// timeout places the tasks whose wait is over.
func (d *Distributor) timeout(now sched.Time, token uint64, out *sched.Actions) {
	switch token {
	case retryToken:
		d.retrying = false
		d.placeHeld(out)
		return
	case dueToken:
		for j, task := d.led.Due(now, out); j != nil; j, task = d.led.Due(now, out) {
			d.tryAgain(j, task, true, out)
		}
		return
	case d.confirmation.workers:
		d.confirmation.workers = 0
		d.settle(now, ledger.Unknown, out)
		return
	}
	for id := range d.groups {
		switch g := &d.groups[id]; token {
		case g.answer.token:
			g.answer.token = 0
			d.settle(now, int16(id), out) //nolint:gosec // a master id
		case g.loss.token:
			d.look(now, g, int16(id), out) //nolint:gosec // a master id
		}
	}
}

// settle gives new numbers to the unreported tasks of a group, and to those of no known
// group, and sends them.
func (d *Distributor) settle(now sched.Time, place int16, out *sched.Actions) {
	unsettled, atWorkers := false, false
	d.led.Each(func(j *ledger.Job) {
		eachAlike(j, 0, sched.MaxTasks, func(i int32) bool {
			t := &j.Tasks[i]
			due := t.Place == place || (t.Place == ledger.Unknown && d.confirmation.workers == 0)
			return due && t.Unconfirmed && t.Outcome == sched.Unfinished
		}, together, func(first, count int32) {
			d.renumber(j, first, count, true, "nobody held it when its frontend was started again", out)
		})
		for i := range j.Tasks {
			t := &j.Tasks[i]
			if t.Outcome != sched.Unfinished || t.Waits {
				continue
			}
			unsettled = unsettled || t.Unconfirmed || t.Place == ledger.Unknown
			if t.Place == ledger.Unknown && d.confirmation.workers == 0 {
				t.Unconfirmed, atWorkers = true, true
			}
		}
		d.place(j, out)
		d.hold(j)
	})
	d.confirmation.open = unsettled
	if atWorkers {
		d.confirmation.workers = d.timerFor(now+ledger.HeldAgain, out)
	}
}

// eachAlike calls f for the ranges of the count tasks from start on that are wanted and
// alike.
func eachAlike(j *ledger.Job, start, count int32, wanted func(int32) bool, alike func(a, b *ledger.Task) bool, f func(first, count int32)) {
	end := min(start+count, int32(len(j.Tasks))) //nolint:gosec // at most sched.MaxTasks
	for i := start; i < end; {
		first := i
		for i < end && wanted(i) && alike(&j.Tasks[i], &j.Tasks[first]) {
			i++
		}
		if i == first {
			i++
			continue
		}
		f(first, i-first)
	}
}

// together reports whether tasks can be given a new number and be sent together.
func together(a, b *ledger.Task) bool { return ledger.Alike(a, b) && a.Place == b.Place }

// renumber gives tasks new numbers. It sends them to the group where they are placed,
// behind the tasks that wait there, if the group accepts them; else they are unplaced.
func (d *Distributor) renumber(j *ledger.Job, first, count int32, send bool, reason string, out *sched.Actions) {
	place := j.Tasks[first].Place
	switch d.led.Renumber(j, first, count, reason, out) {
	case ledger.Again:
	case ledger.Later:
		send = false // placed tasks stay there until their time
		if place >= 0 {
			return
		}
	default:
		return
	}
	if send && !j.Gang && place >= 0 && d.group(master(place)).accepts(j.App) {
		d.sendTasks(j, first, count, place, out)
		return
	}
	for i := first; i < first+count; i++ {
		j.Unplace(i)
	}
}

// returnedInDoubt takes back tasks that an earlier master may have launched without
// the present one knowing: they are sent to it again as new attempts, or, when it is
// full, placed again later.
func (d *Distributor) returnedInDoubt(now sched.Time, j *ledger.Job, from sched.Addr, m *sched.Message, out *sched.Actions) {
	eachAlike(j, m.First, m.Count, func(i int32) bool {
		return d.led.Recall(j, i, m.Attempt, int16(from.ID)) //nolint:gosec // a master id
	}, together, func(first, count int32) {
		d.renumber(j, first, count, !m.Full, "its master was started again, and no node reported it", out)
	})
	if !m.Full {
		d.place(j, out)
	}
	if d.hold(j); m.Full && j.Unplaced > 0 {
		d.retryLater(now, out)
	}
}

// holding processes the report of a master that has these tasks queued or running. It
// drops those that are not wanted any more.
func (d *Distributor) holding(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	g := d.group(from)
	switch {
	case m.Job == sched.JobID{}:
		d.answered(now, from, out)
		return
	case g == nil || !d.restored:
		return
	}
	if g.answer.early = g.answer.early || !g.up; m.Count == 0 {
		d.led.Alive(m.AttemptID(), out)
	}
	j, end := d.led.Job(m.Job), m.First+max(1, m.Count)
	for i := m.First; i < end; i++ {
		first := i
		for i < end && (j == nil || !j.Has(i) || j.Tasks[i].Outcome != sched.Unfinished) {
			i++
		}
		if i > first {
			drop := out.Send(from, sched.Drop)
			drop.Job, drop.First, drop.Count = m.Job, first, i-first
		}
		if i < end {
			d.confirm(j, i, m.Attempt, int16(from.ID))
		}
	}
}

// confirm records that a task of an earlier life is held at the place, or by a worker of
// a group that is not known.
func (d *Distributor) confirm(j *ledger.Job, task, attempt int32, place int16) {
	t := &j.Tasks[task]
	was := t.Unconfirmed || (t.Place == ledger.Unknown && place >= 0)
	if was && d.led.Confirm(j, task, attempt) {
		j.Place(task, place)
	}
}

// heldAtWorker processes a worker's report of the attempts that are there.
func (d *Distributor) heldAtWorker(m *sched.Message, out *sched.Actions) {
	if !d.restored {
		return
	}
	for _, id := range m.Kept {
		d.led.Alive(id, out)
		if j := d.led.Job(id.Job); j != nil && j.Has(id.Task) && !d.heldInLostGroup(j, id.Task, id.Attempt) {
			d.confirm(j, id.Task, id.Attempt, ledger.Unknown)
		}
	}
}
