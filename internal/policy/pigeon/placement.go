package pigeon

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// place sends the job's unplaced tasks to the groups that serve its application,
// evenly: of N groups in a random order, the first F mod N get floor(F/N)+1
// tasks and the others floor(F/N), as contiguous blocks of the task list
// (section 3.1; the worked example of section 4.1 needs blocks). The order is
// drawn from the run's seed and the job's key. Without such a group the tasks
// stay unplaced.
func (d *Distributor) place(j *ledger.Job, out *sched.Actions) {
	d.placeExcept(j, sched.Addr{}, out)
}

// placeExcept is place, among the other groups than that of the given master.
func (d *Distributor) placeExcept(j *ledger.Job, except sched.Addr, out *sched.Actions) {
	if j.Unplaced == 0 || !d.restored {
		return
	}
	if j.Gang {
		d.placeGang(j, except, out)
		return
	}
	ids := d.serving(j.App, except)
	if len(ids) == 0 {
		return
	}
	perm := sched.Rand(d.cfg.Seed, j.Key).Perm(len(ids))
	total, n := j.Unplaced, int32(len(ids))
	var next int32 // task to look at
	for k, p := range perm {
		share := total / n
		if int32(k) < total%n {
			share++
		}
		next = d.placeBlock(j, ids[p], next, share, out)
	}
}

// placeBlock places the next share unplaced tasks from number next on to a group,
// one message for each stretch of neighbours that are alike, and returns the number
// after the last.
func (d *Distributor) placeBlock(j *ledger.Job, place int16, next, share int32, out *sched.Actions) int32 {
	for share > 0 {
		for !waits(&j.Tasks[next]) {
			next++
		}
		first := next
		for share > 0 && j.Has(next) && waits(&j.Tasks[next]) && alike(&j.Tasks[next], &j.Tasks[first]) {
			j.Place(next, place)
			next++
			share--
		}
		d.placed(j, first, next-first, place, out)
	}
	return next
}

// placed journals and sends one block. No task of it was launched before: one that may
// have been has a new number.
func (d *Distributor) placed(j *ledger.Job, first, count int32, place int16, out *sched.Actions) *sched.Message {
	attempt := j.Tasks[first].Attempt
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.First, r.Count, r.Attempt, r.Peer = sched.Placed, j.ID, first, count, attempt, master(place)
	r.Marks = d.marks(j, first) & sched.Moved
	return d.sendTasks(j, first, count, place, out)
}

func waits(t *ledger.Task) bool {
	return t.Outcome == sched.Unfinished && t.Place == ledger.Nowhere && !t.Waits
}

// alike reports whether one message can carry both tasks.
func alike(a, b *ledger.Task) bool { return a.Attempt == b.Attempt && a.Marks == b.Marks }

// accepts reports whether the group can be reached and serves the application.
func (g *group) accepts(app string) bool { return g.up && slices.Contains(g.serves, app) }

// serving lists the groups that take tasks of the application.
func (d *Distributor) serving(app string, except sched.Addr) []int16 {
	var ids []int16
	for id := range d.groups {
		if a := master(int16(id)); a != except && d.groups[id].accepts(app) {
			ids = append(ids, int16(id))
		}
	}
	return ids
}

// hold keeps a job with unplaced tasks until a group serves it.
func (d *Distributor) hold(j *ledger.Job) {
	if j.Unplaced > 0 && !j.Held {
		j.Held = true
		d.held = append(d.held, j.ID)
		if len(d.held) > 2*d.led.Jobs()+heldAtLeast { // most have been cancelled meanwhile
			d.held = slices.DeleteFunc(d.held, func(id sched.JobID) bool { return d.led.Job(id) == nil })
		}
	}
}

// heldAtLeast is how many held jobs may be listed in any case.
const heldAtLeast = 100

// placeHeld tries the held jobs again, in the order of their arrival.
func (d *Distributor) placeHeld(out *sched.Actions) {
	if !d.restored {
		return
	}
	still := d.held[:0]
	for _, id := range d.held {
		j := d.led.Job(id)
		if j == nil {
			continue
		}
		d.place(j, out)
		if j.Held = j.Unplaced > 0; j.Held {
			still = append(still, id)
		}
	}
	d.held = still
}

// serves records the applications that a group serves.
func (d *Distributor) serves(from sched.Addr, m *sched.Message, out *sched.Actions) {
	if g := d.group(from); g != nil {
		g.serves = slices.Clone(m.Serves)
		d.placeHeld(out)
	}
}

// masterUp records a master. Tasks placed with an earlier incarnation of it
// are sent again, marked so that it launches none of them. A master that is reached for
// the first time after a restart of this distributor reports what it holds instead.
func (d *Distributor) masterUp(now sched.Time, m *sched.Message, out *sched.Actions) {
	g := d.group(m.Peer)
	if g == nil {
		return
	}
	g.up, g.lost, g.loss, g.serves = true, false, loss{}, slices.Clone(m.Serves)
	if !d.restored {
		return
	}
	d.reached(now, g, int16(m.Peer.ID), out)
	d.placeHeld(out)
}

// reached is called when a master was reached while nothing is being read.
func (d *Distributor) reached(now sched.Time, g *group, place int16, out *sched.Actions) {
	switch first := !g.answer.met; {
	case !d.confirmation.open || !first:
		d.resend(place, false, out)
	case g.answer.early:
		d.resend(place, true, out) // perhaps an earlier incarnation reported them
	}
	g.answer.met = true
	if d.confirmation.open && g.answer.token == 0 {
		d.await(now, g, out)
	}
}

// resend sends a master all tasks that are placed with it, or all of those that it has
// confirmed. It answers for them then.
func (d *Distributor) resend(place int16, confirmed bool, out *sched.Actions) {
	d.led.Each(func(j *ledger.Job) {
		wanted := func(i int32) bool { t := &j.Tasks[i]; return at(t, place) && !(confirmed && t.Unconfirmed) }
		eachAlike(j, 0, sched.MaxTasks, wanted, alike, func(first, count int32) {
			d.sendTasks(j, first, count, place, out).Resent = true
			for i := first; i < first+count; i++ {
				j.Tasks[i].Unconfirmed = false
			}
		})
	})
}

func at(t *ledger.Task, place int16) bool {
	return t.Outcome == sched.Unfinished && t.Place == place && !t.Waits
}

// restore ends the reading of the journal: messages of masters that arrived
// meanwhile take effect now.
func (d *Distributor) restore(now sched.Time, out *sched.Actions) {
	d.restored = true
	d.led.CloseRestored(out)
	d.confirmation.open = d.led.Jobs() > 0
	for id := range d.groups {
		switch g := &d.groups[id]; {
		case g.up:
			d.reached(now, g, int16(id), out)
		case g.lost:
			d.doubt(now, g, int16(id), lossReported, out)
		}
	}
	d.led.Each(d.hold)
	d.placeHeld(out)
}
