package coretest

import (
	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// chaos is a run in which rapid decides what happens next.
type chaos struct {
	*Cluster
	t    *rapid.T
	apps []string
}

// Chaos runs the cluster for some steps with faults, chosen by rapid, and lets it
// heal. Jobs are of the given applications. It gives the cluster for a look at what
// came to pass.
func Chaos(t *rapid.T, cfg Config, apps []string) *Cluster {
	c := chaos{New(cfg), t, apps}
	acts := c.acts()
	var deck []func()
	for _, a := range acts {
		for range a.weight {
			deck = append(deck, a.do)
		}
	}
	for range c.pick(120, "steps") {
		c.now += sched.Time(c.pick(5, "ms")) * sched.Millisecond
		deck[c.pick(len(deck), "act")]()
		if c.err != nil {
			break
		}
	}
	c.Heal()
	if c.err != nil {
		history, _ := c.History(0)
		t.Fatalf("%v\n%s", c.err, history)
	}
	return c.Cluster
}

type act struct {
	weight int
	do     func()
}

// acts lists what can happen, and how often in proportion.
func (c *chaos) acts() []act {
	acts := []act{
		{12, c.submit}, {60, c.deliverLink}, {20, c.deliverNotice}, {40, c.endSome},
		{4, c.loseNotice}, {4, c.repeatNotice}, {6, c.repeatLink}, {6, c.snapshot},
		{3, c.killNode}, {4, c.startNode}, {4, c.loseNode},
		{2, c.killMaster}, {3, c.startMaster}, {2, c.loseMaster}, {3, c.reintroduce},
		{2, c.killDistributor}, {3, c.startDistributor}, {2, c.crash},
		{3, c.cancel}, {4, func() { c.Advance(sched.Second / 2) }}, {1, c.burst},
	}
	if c.cfg.Policy.CrossGroup {
		acts = append(acts, act{2, c.losePeer}, act{2, c.reintroducePeer})
	}
	return acts
}

func (c *chaos) pick(n int, what string) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

func (c *chaos) submit() {
	d := c.pick(len(c.distributors), "distributor")
	if !c.distributors[d].alive {
		return
	}
	n := uint64(len(c.jobs) + 1)
	c.Submit(d, sched.Message{
		Job: sched.JobID{Hi: 1, Lo: n}, Key: n, App: c.apps[c.pick(len(c.apps), "app")], Count: int32(1 + c.pick(7, "tasks")),
		Class: sched.Class(c.pick(sched.NumClasses, "class")), Retries: uint8(c.pick(2, "retries")), Estimate: sched.Millisecond,
		Marks: c.marks(),
	})
}

// marks draws what the backend of a job can do, where that matters.
func (c *chaos) marks() sched.Marks {
	if !c.cfg.Policy.Suspending {
		return 0
	}
	return rapid.SampledFrom([]sched.Marks{
		sched.Stoppable | sched.Restartable, sched.Stoppable | sched.Restartable, sched.Stoppable, sched.Restartable, 0,
	}).Draw(c.t, "marks")
}

func (c *chaos) deliverLink() {
	if busy := c.busyLinks(); len(busy) > 0 {
		c.deliverHead(busy[c.pick(len(busy), "link")])
	}
}

func (c *chaos) deliverNotice() {
	if n := len(c.notices); n > 0 {
		c.Cluster.deliverNotice(c.pick(n, "notice"))
	}
}

func (c *chaos) loseNotice() {
	if n := len(c.notices); n > 0 {
		c.dropNotice(c.pick(n, "notice"))
	}
}

func (c *chaos) repeatNotice() {
	if n := len(c.notices); n > 0 {
		c.deliver(c.notices[c.pick(n, "notice")])
	}
}

func (c *chaos) repeatLink() {
	if len(c.links) > 0 {
		c.repeat(c.links[c.pick(len(c.links), "link")], 1+c.pick(repeatable, "count"))
	}
}

func (c *chaos) node() int   { return c.pick(len(c.nodes), "node") }
func (c *chaos) group() int  { return c.pick(len(c.masters), "group") }
func (c *chaos) keep() int   { return c.pick(3, "keep") }
func (c *chaos) snapshot()   { c.Snapshot(c.node()) }
func (c *chaos) loseNode()   { c.LoseNode(c.node()) }
func (c *chaos) killNode()   { c.KillNode(c.node(), c.keep()) }
func (c *chaos) killMaster() { c.KillMaster(c.group(), c.keep()) }
func (c *chaos) loseMaster() { c.LoseMaster(c.pick(len(c.distributors), "distributor"), c.group()) }
func (c *chaos) losePeer()   { c.LosePeer(c.group(), c.group()) }
func (c *chaos) crash()      { c.crashAfter = c.pick(3, "records") }
func (c *chaos) burst()      { c.DeliverAll() }
func (c *chaos) killDistributor() {
	c.KillDistributor(c.pick(len(c.distributors), "distributor"), c.keep(), c.pick(6, "unwritten"))
}

func (c *chaos) endSome() {
	n := c.nodes[c.node()]
	if len(n.slots) == 0 {
		return
	}
	o := sched.Done
	if c.pick(6, "outcome") == 0 {
		o = sched.Failed
	}
	c.End(n.id, c.pick(len(n.slots), "slot"), o)
}

func (c *chaos) startNode() {
	if i := c.node(); !c.nodes[i].alive {
		c.StartNode(i)
	}
}

func (c *chaos) startMaster() {
	if g := c.group(); !c.masters[g].alive {
		c.StartMaster(g)
	}
}

func (c *chaos) startDistributor() {
	if d := c.pick(len(c.distributors), "distributor"); !c.distributors[d].alive {
		c.StartDistributor(d)
	}
}

// reintroduce ends what a distributor took for the loss of a master.
func (c *chaos) reintroduce() {
	d, g := c.distributors[c.pick(len(c.distributors), "distributor")], c.group()
	if d.lost[g] {
		c.introduce(c.masters[g], d)
	}
}

func (c *chaos) reintroducePeer() {
	m, g := c.masters[c.group()], c.group()
	if m.lost[g] {
		c.introduce(c.masters[g], m)
	}
}

func (c *chaos) cancel() {
	if len(c.jobs) > 0 {
		c.Cancel(c.jobs[c.pick(len(c.jobs), "job")])
	}
}
