package pigeon

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// never is later than any instant.
const never sched.Time = math.MaxInt64

// isComplete reports whether all tasks of a gang wait here: it starts whole.
func (x *wide) isComplete(j *queue.Job) bool {
	f := x.facts[j]
	return f != nil && x.jobs[j.ID] == j && j.Queued > 0 && j.Queued >= f.size
}

// gangClaim returns the claim of a gang, of which there is one at a time, nil when there is none.
func (x *wide) gangClaim() *claim { return x.claimOf(nil) }

// claimGang claims slots of the whole group for the gang of a run.
func (x *wide) claimGang(r *queue.Run) bool {
	if x.gangClaim() != nil || !x.isComplete(r.Job) {
		return false
	}
	c := &claim{work: first(r), since: r.Since}
	if c.expect = x.gangFull(c); c.expect == never {
		return false
	}
	x.claims = append(x.claims, c)
	for _, w := range x.workers {
		if w != nil && w.Listed() && c.wants(w) {
			x.keep(w)
		}
	}
	return true
}

// gangFull returns when the group is expected to have room for the whole gang; never, when it is
// too small.
func (x *wide) gangFull(c *claim) sched.Time {
	width := c.width()
	x.ends = x.ends[:0]
	for _, n := range x.slots.nodes {
		from := len(x.ends)
		for _, w := range n.slots {
			if w.suits(c.app(), c.class) {
				x.ends = append(x.ends, x.expectedEnd(w))
			}
		}
		if width == 1 {
			continue
		}
		own := x.ends[from:] // of these every width-th makes room for one task more
		slices.Sort(own)
		tasks := len(own) / width
		for k := range tasks {
			own[k] = own[(k+1)*width-1]
		}
		x.ends = x.ends[:from+tasks]
	}
	if int32(len(x.ends)) < c.job.Queued { //nolint:gosec // at most the slots of a group
		return never
	}
	slices.Sort(x.ends)
	return x.ends[c.job.Queued-1]
}

// fillGang starts the gang of the claim with that index if the free slots suffice, without those that
// older claims hold.
func (x *wide) fillGang(i int, out *sched.Actions) bool {
	c, width := x.claims[i], x.claims[i].width()
	var rooms [][]*worker
	for _, n := range x.slots.nodes {
		spare := 0 // of the free slots: what older claims hold
		for _, o := range x.claims[:i] {
			if o.node == n {
				spare = o.width()
			}
		}
		var free []*worker
		for _, w := range n.slots {
			if w.isFree() && w.suits(c.app(), c.class) {
				free = append(free, w)
			}
		}
		for len(free)-spare >= width && int32(len(rooms)) < c.job.Queued { //nolint:gosec // as above
			rooms = append(rooms, free[:width])
			free = free[width:]
		}
	}
	if int32(len(rooms)) < c.job.Queued { //nolint:gosec // as above
		return false
	}
	x.drop(i)
	j := c.job
	var tasks []work
	j.EachRun(func(r *queue.Run) {
		for k := range r.Count {
			t := first(r)
			t.task += k
			tasks = append(tasks, t)
		}
	})
	slices.SortFunc(tasks, func(a, b work) int { return int(a.task - b.task) })
	x.index.Remove(j, 0, sched.MaxTasks)
	for k, t := range tasks {
		x.launchWide(rooms[k], t, out)
	}
	return true
}

// shrunk records that tasks of a gang that waited are no longer wanted.
func (x *wide) shrunk(j *queue.Job, by int32) {
	if f := x.facts[j]; f != nil {
		f.size -= min(by, f.size)
	}
}

// gangLoad answers a distributor that is looking for the least loaded group.
func (s *Master) gangLoad(from sched.Addr, m *sched.Message, out *sched.Actions) {
	if from.Role != sched.Distributor {
		return
	}
	load := s.live - s.index.Idle(sched.General) - s.index.Idle(sched.Reserved) + s.Queued()
	for c := range sched.Class(sched.NumClasses) {
		tasks, slots := s.index.QueuedWide(c)
		load += slots - tasks
	}
	a := out.Send(from, sched.GangLoad)
	a.Job, a.Seq, a.Total = m.Job, uint64(max(0, load)), int32(min(s.live, sched.MaxTasks)) //nolint:gosec // bounded
}
