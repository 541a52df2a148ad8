package pigeon_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// cluster is a distributor, a master and nodes of several slots: all cores are real. Messages between
// two of them keep their order, and any of those that are first may come next. Nodes deny launches and
// are lost.
type cluster struct {
	t           testing.TB
	r           *rand.Rand
	now         sched.Time
	distributor *pigeon.Distributor
	master      *pigeon.Master
	nodes       []*testNode
	slots       []*testSlot // by number
	links       map[link][]letter
	order       []link
	ended       map[sched.JobID]sched.Outcome
	running     map[sched.AttemptID]bool
	faults      bool                // happen now
	faulty      bool                // have happened
	gangs       map[sched.JobID]int // tasks that start together
	launched    int                 // gangs
	timers      []sched.Action
}

// link is the way of messages that keep their order: all that a master sends to a node do.
type link struct {
	from, to sched.Addr
	node     *testNode
}

type letter struct {
	from, to sched.Addr
	sched.Message
}

type testNode struct {
	name  string
	slots []*testSlot
	lives int
}

type testSlot struct {
	addr sched.Addr
	core *pigeon.Worker
	node *testNode
	lost bool
}

var theMaster = sched.Addr{Role: sched.Master}

func newCluster(t testing.TB, r *rand.Rand, o pigeon.Options, nodes, slots int) *cluster {
	params := sched.Params{Cutoff: sched.Second, Reserved: 0.1}
	c := &cluster{
		t: t, r: r, distributor: pigeon.NewDistributorWith(sched.DistributorConfig{Self: distributor}, o),
		master: pigeon.NewMasterWith(sched.MasterConfig{Self: theMaster, Params: params}, o),
		links:  map[link][]letter{}, ended: map[sched.JobID]sched.Outcome{}, running: map[sched.AttemptID]bool{},
		gangs: map[sched.JobID]int{},
	}
	for i := range nodes {
		n := &testNode{name: fmt.Sprintf("n%d", i)}
		c.nodes = append(c.nodes, n)
		c.up(n, slots, o)
	}
	c.step(sched.Addr{}, distributor, &sched.Message{Kind: sched.MasterUp, Peer: theMaster, Serves: []string{""}})
	return c
}

func (c *cluster) up(n *testNode, slots int, o pigeon.Options) {
	n.slots = nil
	n.lives++
	for range slots {
		s := &testSlot{addr: worker(int32(len(c.slots))), node: n}
		s.core = pigeon.NewWorkerWith(sched.WorkerConfig{Self: s.addr, Master: theMaster}, o)
		c.slots = append(c.slots, s)
		n.slots = append(n.slots, s)
		c.step(sched.Addr{}, theMaster, &sched.Message{Kind: sched.WorkerUp, Peer: s.addr, Node: n.name, Serves: []string{""}})
	}
}

func (c *cluster) coreOf(a sched.Addr) interface {
	sched.Core
	Valid() error
} {
	switch a.Role {
	case sched.Master:
		return c.master
	case sched.Worker:
		return c.slots[a.ID].core
	}
	return c.distributor
}

func (c *cluster) step(from, to sched.Addr, m *sched.Message) {
	if to.Role == sched.Worker && c.slots[to.ID].lost {
		return
	}
	c.now += sched.Time(c.r.IntN(int(5 * sched.Millisecond)))
	core := c.coreOf(to)
	var out sched.Actions
	if c.faults && m.Kind == sched.Launch && c.r.IntN(20) == 0 {
		m.Deny("the test denies it")
	}
	core.Step(c.now, from, m, &out)
	if err := core.Valid(); err != nil {
		c.t.Fatalf("%s after %s: %v", to, sched.Describe(m), err)
	}
	together := map[sched.JobID]int{}
	for _, a := range out.List() {
		if a.Msg.Kind == sched.Launch && a.Msg.Gang && !a.Msg.Companion {
			together[a.Msg.Job]++
		}
		if a.Msg.Kind == sched.Tasks && a.Msg.Gang {
			c.gangs[a.Msg.Job] = int(a.Msg.Total)
		}
		c.act(to, a)
	}
	for job, count := range together {
		if c.launched++; count > c.gangs[job] || count < c.gangs[job] && !c.faulty {
			c.t.Fatalf("%d of the %d tasks of gang %s are launched", count, c.gangs[job], job)
		}
	}
}

func (c *cluster) act(self sched.Addr, a sched.Action) {
	m := a.Msg
	switch a.Kind {
	case sched.Send:
		if a.To.ID == sched.Everyone {
			a.To.ID = 0
		}
		c.post(self, a.To, m)
	case sched.Start:
		if c.running[m.AttemptID()] {
			c.t.Fatalf("attempt %s starts twice", m.AttemptID())
		}
		c.running[m.AttemptID()] = true
	case sched.Stop:
		c.end(m.AttemptID(), sched.Killed)
	case sched.Persist:
		if m.Kind == sched.JobEnded {
			c.ended[m.Job] = m.Outcome
		}
	case sched.Timer:
		a.To = self
		c.timers = append(c.timers, a)
	}
}

func (c *cluster) post(from, to sched.Addr, m sched.Message) {
	l := link{from: from, to: to}
	if to.Role == sched.Worker {
		l = link{from: from, node: c.slots[to.ID].node}
	}
	if len(c.links[l]) == 0 {
		c.order = append(c.order, l)
	}
	c.links[l] = append(c.links[l], letter{from, to, m})
}

// end ends an attempt at every slot that holds it, as a node does.
func (c *cluster) end(id sched.AttemptID, o sched.Outcome) {
	if !c.running[id] {
		return
	}
	delete(c.running, id)
	for _, s := range c.slots {
		if !s.lost && s.core.Holds(id) {
			c.post(sched.Addr{}, s.addr, sched.Message{Kind: sched.Ended, Job: id.Job, First: id.Task, Attempt: id.Attempt, Outcome: o})
		}
	}
}

// lose makes a node be another process.
func (c *cluster) lose(n *testNode, o pigeon.Options) {
	slots := n.slots
	for _, s := range slots {
		s.lost = true
		id := s.core.Slot().Running
		delete(c.running, id)
	}
	for _, s := range slots {
		c.step(sched.Addr{}, theMaster, &sched.Message{Kind: sched.WorkerLost, Peer: s.addr, Reason: "the test"})
	}
	c.up(n, len(slots), o)
}

// next lets something happen; false when nothing can.
func (c *cluster) next() bool {
	if len(c.order) > 0 && (len(c.running) == 0 || c.r.IntN(4) > 0) {
		i := c.r.IntN(len(c.order))
		l := c.order[i]
		m := c.links[l][0]
		if c.links[l] = c.links[l][1:]; len(c.links[l]) == 0 {
			c.order = slices.Delete(c.order, i, i+1)
		}
		if m.from.Role != sched.Worker || !c.slots[m.from.ID].lost || m.Kind == sched.Report {
			c.step(m.from, m.to, &m.Message)
		}
		return true
	}
	if len(c.running) > 0 {
		var ids []sched.AttemptID
		for id := range c.running {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b sched.AttemptID) int {
			return int(a.Job.Lo)*1000 + int(a.Task) - int(b.Job.Lo)*1000 - int(b.Task)
		})
		c.end(ids[c.r.IntN(len(ids))], sched.Done)
		return true
	}
	if len(c.timers) > 0 {
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.now = max(c.now, t.At)
		c.step(sched.Addr{}, t.To, &sched.Message{Kind: sched.Timeout, Token: t.Token})
		return true
	}
	return false
}

func (c *cluster) submit(job uint64) {
	m := sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: job}, Key: job, Class: sched.Class(c.r.IntN(2)), Count: int32(1 + c.r.IntN(6)), Retries: 3}
	if m.Class == sched.Long {
		m.Estimate = sched.Time(1+c.r.IntN(5)) * 10 * sched.Millisecond
	}
	switch c.r.IntN(4) {
	case 0:
		m.Slots = int32(2 + c.r.IntN(2))
	case 1:
		m.Gang, m.Slots, m.Count = true, int32(c.r.IntN(3)), int32(1+c.r.IntN(4))
	}
	m.Owner = []string{"", "a", "b"}[c.r.IntN(3)]
	c.step(sched.Addr{}, distributor, &m)
}

// Every job ends, whatever nodes deny and lose: no slot and no claim is left behind, and no gang and
// wide task wait for each other. Valid, after each step, has the other properties: at most a fifth is
// claimed, one claim a node, and nothing is idle beside a task that may use it.
func TestWideTasksEnd(t *testing.T) {
	t.Parallel()
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 150
	}
	gangs, refused, lost := 0, uint64(0), uint64(0)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		o := []pigeon.Options{{}, pigeon.DefaultOptions(), pigeon.XOptions(), {Fanout: true}}[seed%4]
		c := newCluster(t, r, o, 3+r.IntN(3), 4+r.IntN(3))
		c.faults, c.faulty = seed%3 > 0, seed%3 > 0
		jobs := uint64(0)
		for step := 0; ; step++ {
			if jobs < 25 && r.IntN(8) == 0 {
				jobs++
				c.submit(jobs)
			}
			switch {
			case c.faults && jobs < 25 && r.IntN(150) == 0:
				c.lose(c.nodes[r.IntN(len(c.nodes))], o)
			case c.faults && jobs > 0 && r.IntN(300) == 0:
				c.step(sched.Addr{}, distributor, &sched.Message{Kind: sched.Cancel, Job: sched.JobID{Lo: 1 + r.Uint64N(jobs)}, Count: int32(r.IntN(3))})
			}
			if c.faults = c.faults && jobs < 25; !c.next() && jobs == 25 {
				break
			}
			if step > 50_000 {
				t.Fatalf("seed %d: %d of 25 jobs ended after %d steps", seed, len(c.ended), step)
			}
		}
		totals := c.master.Totals()
		gangs, refused, lost = gangs+c.launched, refused+totals.Refused, lost+totals.Lost
		if len(c.ended) != 25 || totals.Kept != 0 || totals.Idle[0]+totals.Idle[1] != totals.Workers[0]+totals.Workers[1] {
			t.Fatalf("seed %d: %d of 25 jobs ended; at rest %+v", seed, len(c.ended), totals)
		}
	}
	if gangs < int(seeds) || refused < seeds || lost < seeds/2 {
		t.Errorf("%d gangs started, %d launches were refused, %d attempts lost: the test tests little", gangs, refused, lost)
	}
	t.Logf("%d gangs started, %d launches were refused, %d attempts lost", gangs, refused, lost)
}

// wideRig is a master with nodes of the given slots.
func wideRig(t *testing.T, slots ...int) *rig {
	r := newRig(t, 0)
	for i, n := range slots {
		for range n {
			r.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(int32(r.nodes)), Node: fmt.Sprintf("n%03d", i), Serves: []string{""}})
			r.nodes++
		}
	}
	return r
}

func (r *rig) demand(m sched.Message) []string {
	r.t.Helper()
	m.Kind, m.Attempt, m.Distributor = sched.Tasks, 1, distributor
	if m.Gang {
		m.Total = m.Count
	}
	return launches(r.step(distributor, &m))
}

func long(job uint64, count int32, seconds float64) sched.Message {
	return sched.Message{Job: sched.JobID{Lo: job}, Class: sched.Long, Count: count, Estimate: sched.Time(seconds * 1e9)}
}

func expectLaunches(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("launched %v, want %v", got, want)
	}
}

// docs/policies.md: the claim is at the node that is free first; it holds what becomes free there, and
// what ends before it is full runs there meanwhile.
func TestClaim(t *testing.T) {
	r := wideRig(t, 2, 2)
	expectLaunches(t, r.demand(long(1, 1, 10)), "0:1/0")
	expectLaunches(t, r.demand(long(2, 3, 30)), "1:2/0", "2:2/1", "3:2/2")
	wide := long(3, 1, 5)
	wide.Slots = 2
	expectLaunches(t, r.demand(wide))
	expectLaunches(t, r.demand(long(4, 1, 50)))
	expectLaunches(t, r.demand(long(5, 1, 15)))
	expectLaunches(t, r.ends(0), "0:5/0") // its node is full at 30 s: 15 s fit, 50 s do not
	if got := r.master.Totals(); got.Wide != 1 || got.Kept != 0 {
		t.Errorf("%+v", got)
	}
	expectLaunches(t, r.ends(0)) // held
	expectLaunches(t, r.ends(1), "1:3/0", "0:3/0")
	expectLaunches(t, r.ends(0), "0:4/0") // each slot says itself that it is free
	expectLaunches(t, r.ends(1))
}

// A gang starts whole, and nothing that would delay it runs before it.
func TestGang(t *testing.T) {
	r := wideRig(t, 2, 2)
	expectLaunches(t, r.demand(long(1, 3, 10)), "0:1/0", "1:1/1", "2:1/2")
	gang := long(2, 4, 5)
	gang.Gang = true
	expectLaunches(t, r.demand(gang))
	expectLaunches(t, r.demand(long(3, 1, 60)))
	expectLaunches(t, r.demand(long(4, 1, 8)), "3:4/0")
	expectLaunches(t, r.ends(0))
	expectLaunches(t, r.ends(1))
	expectLaunches(t, r.ends(2))
	expectLaunches(t, r.ends(3), "0:2/0", "1:2/1", "2:2/2", "3:2/3")
}

// A wide task that no node can hold waits, and hinders nobody.
func TestTooWide(t *testing.T) {
	r := wideRig(t, 2, 2)
	wide := long(1, 1, 5)
	wide.Slots = 3
	expectLaunches(t, r.demand(wide))
	expectLaunches(t, r.demand(long(2, 2, 5)), "0:2/0", "1:2/1")
}
