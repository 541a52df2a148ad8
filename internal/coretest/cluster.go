package coretest

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Config describes a cluster.
type Config struct {
	Policy       sched.Policy
	Params       sched.Params
	Seed         uint64
	Distributors int
	Groups       [][]Node
	MaxTasks     int // queued at a master, 0 for no limit

	// AtRest checks a master that has nothing to do, with so many workers
	// registered; nil for no check.
	AtRest func(master sched.Core, workers int) error
	// Observe sees every step of a master before its actions are carried out;
	// nil for nobody.
	Observe func(master sched.Core, in *sched.Message, out []sched.Action) error
}

// Node describes one machine.
type Node struct {
	Slots    int
	Serves   []string // applications, sorted
	Reserved bool     // with Fixed: what the owner of its slots chose
	Fixed    bool
}

// place is a process: a distributor, a master, or (Worker) a node monitor.
type place struct {
	role sched.Role
	id   int
}

func (p place) String() string {
	if p.role == sched.Worker {
		return fmt.Sprintf("node %d", p.id)
	}
	return fmt.Sprintf("%s %d", p.role, p.id)
}

// daemon is a distributor or a master with its shell.
type daemon struct {
	place
	alive       bool
	incarnation int
	core        *recorded

	journal []sched.Message // distributor
	synced  int             // distributor: records that are on its disk
	lost    map[int]bool    // masters it was told are lost

	epoch      uint64 // master
	serves     []string
	members    []member // master: slots by worker id
	registered map[int]int
	cargo      map[sched.JobID]bool
}

// member is a slot as a master knows it.
type member struct {
	node, slot, incarnation int
	gone                    bool
	reserved                bool // as the master told it
}

// Cluster is a running cluster. Methods report the first thing that went wrong
// in Err; after that they mean nothing.
type Cluster struct {
	cfg          Config
	now          sched.Time
	num          int
	distributors []*daemon
	masters      []*daemon
	nodes        []*node
	links        []*link
	byEnds       map[ends]*link
	notices      []envelope
	timers       []timer
	jobs         []*job
	byID         map[sched.JobID]*job
	ran          map[sched.AttemptID]bool
	cores        []*recorded
	crashAfter   int // a distributor dies after so many records of its step; -1: it does not
	steps        int
	switches     int // tasks suspended or continued
	err          error
}

// New starts a cluster. Nothing is delivered yet.
func New(cfg Config) *Cluster {
	c := &Cluster{cfg: cfg, byEnds: map[ends]*link{}, byID: map[sched.JobID]*job{}, ran: map[sched.AttemptID]bool{}, crashAfter: -1}
	for i := range cfg.Distributors {
		c.distributors = append(c.distributors, &daemon{place: place{sched.Distributor, i}, lost: map[int]bool{}})
	}
	for g, nodes := range cfg.Groups {
		c.masters = append(c.masters, &daemon{place: place{sched.Master, g}, lost: map[int]bool{}})
		for _, n := range nodes {
			c.nodes = append(c.nodes, &node{place: place{sched.Worker, len(c.nodes)}, group: g, is: n})
		}
	}
	for g := range c.masters {
		c.StartMaster(g)
	}
	for n := range c.nodes {
		c.StartNode(n)
	}
	for d := range c.distributors {
		c.StartDistributor(d)
	}
	return c
}

// Switches returns how often a task was suspended or continued.
func (c *Cluster) Switches() int { return c.switches }

// Err returns the first thing that went wrong.
func (c *Cluster) Err() error { return c.err }

func (c *Cluster) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// incarnation returns the current incarnation of a process, and whether it lives.
func (c *Cluster) incarnation(p place) (int, bool) {
	switch p.role {
	case sched.Distributor:
		return c.distributors[p.id].incarnation, c.distributors[p.id].alive
	case sched.Master:
		return c.masters[p.id].incarnation, c.masters[p.id].alive
	default:
		return c.nodes[p.id].incarnation, c.nodes[p.id].alive
	}
}

// timer is due at an instant, unless its process has died.
type timer struct {
	at          sched.Time
	num         int
	of          *daemon
	incarnation int
	token       uint64
}

// Advance lets time pass and fires the timers that are due, in order.
func (c *Cluster) Advance(by sched.Time) {
	until := c.now + by
	for c.err == nil {
		next := -1
		for i, t := range c.timers {
			if t.at <= until && (next < 0 || t.at < c.timers[next].at || (t.at == c.timers[next].at && t.num < c.timers[next].num)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		t := c.timers[next]
		c.timers = append(c.timers[:next], c.timers[next+1:]...)
		c.now = max(c.now, t.at)
		if t.of.alive && t.of.incarnation == t.incarnation {
			c.step(t.of, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: t.token})
		}
	}
	c.now = until
}
