package coretest

import "github.com/pigeon-sched/pigeon/internal/sched"

// StartMaster starts the master of a group: the first one, or one that follows
// another.
func (c *Cluster) StartMaster(g int) {
	m := c.masters[g]
	m.incarnation++
	m.epoch++
	m.alive = true
	m.members, m.registered, m.serves, m.cargo, m.lost = nil, map[int]int{}, []string{}, map[sched.JobID]bool{}, map[int]bool{}
	cfg := sched.MasterConfig{
		Self: sched.Addr{Role: sched.Master, ID: int32(g)}, Seed: c.cfg.Seed, Params: c.cfg.Params,
		MaxTasks: c.cfg.MaxTasks, Recover: m.incarnation > 1,
	}
	m.core = c.record(c.cfg.Policy.NewMaster(cfg), func() sched.Core { return c.cfg.Policy.NewMaster(cfg) })
	c.step(m, sched.Addr{}, &sched.Message{Kind: sched.EpochIs, Epoch: m.epoch})
	for _, n := range c.nodes {
		if n.group == g && n.alive {
			c.hello(n)
		}
	}
	for _, d := range c.distributors {
		c.introduce(m, d)
	}
	for _, o := range c.masters {
		if o != m && c.cfg.Policy.CrossGroup {
			c.introduce(m, o)
			c.introduce(o, m)
		}
	}
}

// introduce tells a distributor, or another master, that a master was reached.
func (c *Cluster) introduce(m, d *daemon) {
	if m.alive && d.alive {
		up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(m.id)}, Serves: m.serves}
		c.post(c.enclose(m.place, d.place, &up))
	}
}

// KillMaster ends the master of a group; the first messages of each of its links
// may still arrive.
func (c *Cluster) KillMaster(g, keep int) {
	c.masters[g].alive = false
	c.cut(c.masters[g].place, keep)
}

// LoseMaster tells a distributor that a group was without a master for too long,
// be it so or not.
func (c *Cluster) LoseMaster(d, g int) { c.lose(c.distributors[d], g) }

// LosePeer tells the master of a group the same of another.
func (c *Cluster) LosePeer(m, g int) {
	if m != g {
		c.lose(c.masters[m], g)
	}
}

func (c *Cluster) lose(d *daemon, g int) {
	if d.alive {
		d.lost[g] = true
		c.step(d, sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: sched.Addr{Role: sched.Master, ID: int32(g)}})
	}
}

// StartDistributor starts a distributor, which reads its journal.
func (c *Cluster) StartDistributor(i int) {
	d := c.distributors[i]
	d.incarnation++
	d.alive = true
	cfg := sched.DistributorConfig{Self: sched.Addr{Role: sched.Distributor, ID: int32(i)}, Seed: c.cfg.Seed, Params: c.cfg.Params}
	d.core = c.record(c.cfg.Policy.NewDistributor(cfg), func() sched.Core { return c.cfg.Policy.NewDistributor(cfg) })
	ended := map[sched.JobID]bool{}
	for k := range d.journal {
		if d.journal[k].Kind == sched.JobEnded {
			ended[d.journal[k].Job] = true
		}
	}
	records := d.journal
	for k := range records {
		m := records[k]
		if ended[m.Job] {
			continue
		}
		if !d.alive {
			return
		}
		m.Resent = m.Kind == sched.Submit
		c.step(d, sched.Addr{}, &m)
	}
	if len(records) > 0 && d.alive {
		c.step(d, sched.Addr{}, &sched.Message{Kind: sched.Restored})
	}
	for g, m := range c.masters {
		switch {
		case m.alive:
			c.introduce(m, d)
		case d.lost[g]:
			c.LoseMaster(i, g)
		}
	}
}

// KillDistributor ends a distributor; the first messages of each of its links may
// still arrive. Its journal loses up to so many records that nothing waited for:
// those after the last job that was accepted and the last report acknowledged.
func (c *Cluster) KillDistributor(i, keep, unwritten int) {
	d := c.distributors[i]
	d.alive = false
	d.journal = d.journal[:max(d.synced, len(d.journal)-unwritten)]
	c.cut(d.place, keep)
	c.recount(d)
}

// Submit gives a distributor a new job.
func (c *Cluster) Submit(d int, m sched.Message) {
	dist := c.distributors[d]
	m.Kind = sched.Submit
	c.byID[m.Job] = &job{id: m.Job, owner: d, marks: m.Marks, results: make([]int, m.Count)}
	c.jobs = append(c.jobs, c.byID[m.Job])
	dist.journal = append(dist.journal, m)
	dist.synced = len(dist.journal)
	c.step(dist, sched.Addr{}, &m)
}

// Cancel tells a job's distributor that the job is not wanted any more.
func (c *Cluster) Cancel(j *job) {
	if d := c.distributors[j.owner]; d.alive {
		c.step(d, sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: j.id, Reason: "cancelled"})
	}
}
