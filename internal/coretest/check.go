package coretest

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// job is what the cluster's journals say of a job.
type job struct {
	id      sched.JobID
	owner   int
	marks   sched.Marks
	results []int // accepted, per task
	ended   int
	outcome sched.Outcome
}

// persist enters a record into a distributor's journal.
func (c *Cluster) persist(d *daemon, m *sched.Message) {
	d.journal = append(d.journal, *m)
	c.count(d, m)
}

// recount counts the results of a distributor's jobs after its journal was cut.
func (c *Cluster) recount(d *daemon) {
	for _, j := range c.jobs {
		if j.owner == d.id {
			clear(j.results)
			j.ended = 0
		}
	}
	for i := range d.journal {
		c.count(d, &d.journal[i])
	}
}

// count enters a record into what is known of its job.
func (c *Cluster) count(d *daemon, m *sched.Message) {
	j := c.byID[m.Job]
	if j == nil {
		c.failf("%s journals a job that nobody submitted: %s", d.place, sched.Describe(m))
		return
	}
	switch m.Kind {
	case sched.TaskEnded:
		j.results[m.First]++
		if m.Outcome == sched.Done && !c.ran[m.AttemptID()] {
			c.failf("%s accepts %s as done, which never ran to its end", d.place, m.AttemptID())
		}
	case sched.JobEnded:
		j.ended++
		j.outcome = m.Outcome
	}
}

// maxRounds bounds the healing of a cluster. A round lasts a second, delivers
// all, and ends all that runs.
const maxRounds = 2000

// Heal starts what is dead, loses nothing more, and waits until the cluster has
// nothing to do. Then everything that must hold at the end is checked.
func (c *Cluster) Heal() {
	if c.err != nil {
		return
	}
	c.crashAfter = -1
	for range maxRounds {
		c.startAll()
		c.DeliverAll()
		for i := range c.nodes {
			c.Snapshot(i)
		}
		c.DeliverAll()
		c.Advance(sched.Second)
		c.DeliverAll()
		if c.err != nil || !c.endAll() && c.settled() {
			break
		}
	}
	c.checkJobs()
	c.checkRest()
	for _, r := range c.cores {
		if err := r.replay(); err != nil {
			c.failf("not deterministic: %w", err)
		}
	}
}

func (c *Cluster) startAll() {
	for i, n := range c.nodes {
		if !n.alive {
			c.StartNode(i)
		}
	}
	for g, m := range c.masters {
		if !m.alive {
			c.StartMaster(g)
		}
	}
	for i, d := range c.distributors {
		if !d.alive {
			c.StartDistributor(i)
		}
	}
	for _, d := range slices.Concat(c.distributors, c.masters) {
		for g, lost := range d.lostList(len(c.masters)) {
			if lost {
				c.introduce(c.masters[g], d)
			}
		}
	}
}

func (m *daemon) lostList(groups int) []bool {
	list := make([]bool, groups)
	for g := range list {
		list[g] = m.lost[g]
	}
	return list
}

// endAll ends everything that runs; false when nothing did.
func (c *Cluster) endAll() bool {
	some := false
	for i, n := range c.nodes {
		for k := range n.slots {
			some = c.End(i, k, sched.Done) || some
		}
	}
	return some
}

func (c *Cluster) settled() bool {
	for _, j := range c.jobs {
		if j.ended == 0 {
			return false
		}
	}
	return len(c.timers) == 0 && len(c.notices) == 0 && len(c.busyLinks()) == 0
}

// checkJobs: every accepted job ended once, with one accepted result per task
// unless it was cancelled, and then with one at most.
func (c *Cluster) checkJobs() {
	for _, j := range c.jobs {
		if j.ended != 1 {
			c.failf("job %s ended %d times", j.id, j.ended)
		}
		for task, n := range j.results {
			if n > 1 || (n == 0 && j.outcome != sched.Killed) {
				c.failf("job %s, which ended %s: task %d has %d accepted results", j.id, j.outcome, task, n)
			}
		}
	}
}

// checkRest: nothing is left of the jobs anywhere.
func (c *Cluster) checkRest() {
	for _, m := range c.masters {
		for id := range m.cargo {
			c.failf("%s still holds job %s", m.place, id)
		}
		workers := 0
		for _, w := range m.members {
			if !w.gone {
				workers++
			}
		}
		if c.cfg.AtRest != nil && m.core != nil {
			if err := c.cfg.AtRest(m.core.core, workers); err != nil {
				c.failf("%s at rest: %w", m.place, err)
			}
		}
	}
	for _, n := range c.nodes {
		for k, s := range n.slots {
			if s.running != nil || s.suspended != nil || len(s.kept) > 0 {
				c.failf("%s: slot %d runs something, has something suspended, or keeps %d results", n.place, k, len(s.kept))
			}
		}
	}
}
