package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A gang goes whole to one group, the least loaded. The distributor asks all groups that serve its
// application, and places the gang when they have answered:
//
//	Submit ── GangLoad ──▶ each master ── GangLoad ──▶ Tasks, to one of them
//
// When one of its tasks must be tried again, the others are dropped, and all get new numbers.

// question is what a distributor has learned about groups for a gang.
type question struct {
	groups []int16           // that were asked
	loads  map[int16]weighed // of those that answered
}

// weighed is how many slots of a group are busy or needed, and how many there are.
type weighed struct{ load, slots float64 }

// placeGang places an unplaced gang, or asks where.
func (d *Distributor) placeGang(j *ledger.Job, except sched.Addr, out *sched.Actions) {
	if j.Unplaced > 0 && j.Unfinished() > int(j.Unplaced+j.Waiting) {
		d.withdraw(j, out)
	}
	if j.Unplaced == 0 || j.Waiting > 0 || d.isAsking(j) {
		return
	}
	groups := d.serving(j.App, except)
	switch len(groups) {
	case 0:
	case 1:
		d.placeWhole(j, groups[0], out)
	default:
		if d.asked == nil {
			d.asked = make(map[sched.JobID]*question)
		}
		d.asked[j.ID] = &question{groups: groups, loads: make(map[int16]weighed)}
		for _, id := range groups {
			out.Send(master(id), sched.GangLoad).Job = j.ID
		}
	}
}

// isAsking reports whether answers about the gang are still to come.
func (d *Distributor) isAsking(j *ledger.Job) bool {
	q := d.asked[j.ID]
	if q == nil {
		return false
	}
	for _, id := range q.groups {
		if _, known := q.loads[id]; !known && !d.groups[id].up {
			return false
		}
	}
	return true
}

// placeWhole sends all unfinished tasks of a gang to one group.
func (d *Distributor) placeWhole(j *ledger.Job, id int16, out *sched.Actions) {
	delete(d.asked, j.ID)
	d.placeBlock(j, id, 0, j.Unplaced, out)
}

// withdraw takes the tasks of a gang back that groups hold: they are tried again with those that are
// unplaced. A withdrawal is no loss.
func (d *Distributor) withdraw(j *ledger.Job, out *sched.Actions) {
	for _, p := range places(j, func(t *ledger.Task) bool { return t.Outcome == sched.Unfinished }) {
		d.drop(j, 0, 0, p, out)
	}
	eachAlike(j, 0, sched.MaxTasks, func(i int32) bool {
		t := &j.Tasks[i]
		return t.Outcome == sched.Unfinished && t.Place != ledger.Nowhere && !t.Waits
	}, together, func(first, count int32) {
		d.renumber(j, first, count, false, "another task of its gang must be tried again", out)
	})
}

// gangLoad records the answer of a group, and places the gang with the last one.
func (d *Distributor) gangLoad(from sched.Addr, m *sched.Message, out *sched.Actions) {
	q, j := d.asked[m.Job], d.led.Job(m.Job)
	if q == nil || d.group(from) == nil || m.Total < 1 {
		return
	}
	if j == nil || j.Unplaced == 0 {
		delete(d.asked, m.Job)
		return
	}
	q.loads[int16(from.ID)] = weighed{float64(min(m.Seq, 1<<50)), float64(m.Total)} //nolint:gosec // a master id
	for _, id := range q.groups {
		if _, known := q.loads[id]; !known && d.groups[id].up {
			return
		}
	}
	delete(d.asked, m.Job)
	if id, found := d.leastLoaded(j, q); found && d.restored {
		d.placeWhole(j, id, out)
		return
	}
	d.placeGang(j, sched.Addr{}, out)
}

// leastLoaded returns the group with the smallest share of busy and needed slots, among those that
// could hold the gang if there are any. Equal ones are tried in a random order.
func (d *Distributor) leastLoaded(j *ledger.Job, q *question) (best int16, found bool) {
	var least weighed
	need := float64(j.Unplaced) * float64(max(1, j.Slots))
	for _, p := range sched.Rand(d.cfg.Seed, j.Key).Perm(len(q.groups)) {
		id := q.groups[p]
		l, known := q.loads[id]
		if !known || !d.groups[id].accepts(j.App) {
			continue
		}
		fits, did := l.slots >= need, least.slots >= need
		if !found || fits && !did || fits == did && l.load*least.slots < least.load*l.slots {
			best, least, found = id, l, true
		}
	}
	return best, found
}
