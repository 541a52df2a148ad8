package probing

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// membersChanged records the list of live workers. A task that was bound to one that has left is
// lost, and so are all reservations there. Of one that takes nothing new only the reservations are;
// with Resent, other workers may have dropped reservations too. A message that names a job means the
// reservations of that job alone.
func (d *Distributor) membersChanged(now sched.Time, m *sched.Message, out *sched.Actions) {
	if (m.Job != sched.JobID{}) {
		if j := d.jobs[m.Job]; j != nil && m.Resent {
			d.probe(j, out)
		}
		return
	}
	if m.More == nil || !wellFormed(m.More.Members) {
		return
	}
	old, left := d.members, d.leaving
	d.members, d.leaving = split(m.More.Members)
	d.workersBack(old, out)
	lost := slices.ContainsFunc(old, func(o sched.Member) bool { return !isMember(d.members, o.Worker.ID) }) ||
		slices.ContainsFunc(left, func(o sched.Member) bool { return !d.alive(o.Worker.ID) })
	d.led.Each(func(entry *ledger.Job) {
		j := d.jobs[entry.ID]
		again := lost || j.waiting || m.Resent
		if lost {
			d.loseTasks(now, j, old, left, out)
		}
		if again && d.jobs[entry.ID] != nil {
			d.probe(j, out)
		}
	})
}

// workersBack takes back the losses at workers that were missing for a while.
func (d *Distributor) workersBack(old []sched.Member, out *sched.Actions) {
	some := slices.ContainsFunc(d.members, func(m sched.Member) bool { return !isMember(old, m.Worker.ID) })
	if some {
		d.led.WorkersBack(func(w sched.Addr) bool { return w.Role == sched.Worker && d.alive(w.ID) }, out)
	}
}

// loseTasks unbinds the tasks that are bound to workers that have left.
func (d *Distributor) loseTasks(now sched.Time, j *Job, old, leaving []sched.Member, out *sched.Actions) {
	for i := range j.bound {
		if b := j.bound[i]; b < 0 || d.alive(b) {
			continue
		}
		m := sched.Message{
			Kind: sched.AttemptLost, Job: j.ID, First: int32(i), Attempt: j.Tasks[i].Attempt, Reason: "its worker was lost",
			Peer: sched.Addr{Role: sched.Worker, ID: j.bound[i]},
		}
		if at, found := find(old, j.bound[i]); found {
			m.Node = old[at].Node
		} else if at, found := find(leaving, j.bound[i]); found {
			m.Node = leaving[at].Node
		}
		switch _, v := d.led.Lost(now, &m, out); v {
		case ledger.Again:
			j.unbind(m.First)
		case ledger.Later:
			j.postpone(m.First)
		case ledger.Accepted:
			j.end(m.First)
		}
	}
	if d.led.Job(j.ID) == nil {
		delete(d.jobs, j.ID)
	}
}

// restore ends the reading of the journal. The journal does not record where tasks run.
func (d *Distributor) restore(out *sched.Actions) {
	d.restored = true
	d.led.CloseRestored(out)
	for id := range d.jobs { // nothing is sent from here: the order does not matter
		if d.led.Job(id) == nil {
			delete(d.jobs, id)
		}
	}
	d.led.Each(func(entry *ledger.Job) {
		j := newJob(entry, d.jobs[entry.ID].rand)
		d.jobs[entry.ID] = j
		if j.restored() {
			j.adopt()
			d.doubt = true
			return
		}
		d.probe(j, out) // it came while the journal was read
	})
}

// alive reports whether a worker is there, also one that takes nothing new.
func (d *Distributor) alive(id int32) bool { return isMember(d.members, id) || isMember(d.leaving, id) }

// split separates the workers that take nothing new from the others.
func split(list []sched.Member) (members, leaving []sched.Member) {
	drains := func(m sched.Member) bool { return m.Draining }
	if !slices.ContainsFunc(list, drains) {
		return list, nil
	}
	for _, m := range list {
		if m.Draining {
			leaving = append(leaving, m)
		} else {
			members = append(members, m)
		}
	}
	return members, leaving
}

func isMember(list []sched.Member, id int32) bool {
	_, found := find(list, id)
	return found
}

// find returns the place of a worker in a list of members.
func find(list []sched.Member, id int32) (at int, found bool) {
	return slices.BinarySearchFunc(list, id, func(m sched.Member, id int32) int { return int(m.Worker.ID) - int(id) })
}

// wellFormed reports whether these are workers in ascending order.
func wellFormed(members []sched.Member) bool {
	for i, m := range members {
		if m.Worker.Role != sched.Worker || m.Worker.ID < 0 || (i > 0 && m.Worker.ID <= members[i-1].Worker.ID) {
			return false
		}
	}
	return true
}

// Reserved returns how many of the workers, the first of them, are reserved for
// short tasks: round(share x workers).
func Reserved(share float64, workers int) int {
	return int(math.Floor(float64(share*float64(workers)) + 0.5))
}

// draw calls f with n workers, as indices: distinct ones unless Repeated is
// set. When there are fewer workers than probes, whole rounds over all of
// them go first.
func (d *Distributor) draw(r *rand.Rand, n int, f func(i int)) {
	if d.o.Repeated {
		for range n {
			f(r.IntN(len(d.members)))
		}
		return
	}
	for ; n > 0; n -= len(d.members) {
		d.scratch.distinct(r, min(n, len(d.members)), len(d.members), f)
	}
}

// scratch is the identity permutation between draws, so that a draw of k numbers
// costs k and depends on its source alone.
type scratch struct {
	list []int32
	undo []int
}

// distinct calls f with k different numbers from 0 to below n, in random order.
func (s *scratch) distinct(r *rand.Rand, k, n int, f func(int)) {
	for len(s.list) < n {
		s.list = append(s.list, int32(len(s.list)))
	}
	s.undo = s.undo[:0]
	for i := range k {
		o := i + r.IntN(n-i)
		s.undo = append(s.undo, o)
		s.list[i], s.list[o] = s.list[o], s.list[i]
		f(int(s.list[i]))
	}
	for i := k - 1; i >= 0; i-- {
		o := s.undo[i]
		s.list[i], s.list[o] = s.list[o], s.list[i]
	}
}
