package sim

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// cluster holds the daemons, in the virtual time of the engine. Every component of the
// world looks daemons up here.
type cluster struct {
	*engine
	frontends []*daemon
	masters   []*daemon
	nodes     []*node
	byNumber  []*worker // workers by their number, under a policy with a single master
	manual    bool      // a test delivers messages and advances time itself
	log       io.Writer // receives a line for each fault; nil for none
}

// daemonID names a daemon: a frontend, a master or (Worker) a node.
type daemonID struct {
	role sched.Role
	id   int
}

func (p daemonID) String() string {
	switch p.role {
	case sched.Worker:
		return fmt.Sprintf("node %d", p.id)
	default:
		return fmt.Sprintf("%s %d", p.role, p.id)
	}
}

// process is one daemon through all its lives.
type process struct {
	daemonID
	alive      bool
	life       int // counts its starts
	started    sched.Time
	resumes    sched.Time // it is paused until then
	clock      clock
	membership membership // as it has read it
}

// daemon is a frontend or a master.
type daemon struct {
	process
	host *host // of its core; nil at a registrar

	lost      map[int]bool       // masters that it has declared lost
	lastHeard map[int]sched.Time // by master

	journal *journal // of a frontend

	// Of a master:
	registrations
	core       sched.MasterCore // nil under a policy without masters
	epoch      uint64
	serves     []string
	shortInRow int // short tasks in a row that general workers took from its queues
}

func newCluster(cfg Config, f *Faults) *cluster {
	c := &cluster{engine: &engine{cfg: cfg, jobIndex: map[sched.JobID]int32{}}, log: f.Log, manual: f.manual}
	for i := range cfg.Frontends {
		c.frontends = append(c.frontends, &daemon{process: process{daemonID: daemonID{sched.Distributor, i}}})
	}
	for g, nodes := range f.nodes(&cfg) {
		c.masters = append(c.masters, &daemon{process: process{daemonID: daemonID{sched.Master, g}}})
		for _, n := range nodes {
			c.nodes = append(c.nodes, &node{process: process{daemonID: daemonID{sched.Worker, len(c.nodes)}}, group: g, spec: n})
		}
	}
	return c
}

func (c *cluster) process(p daemonID) *process {
	switch p.role {
	case sched.Distributor:
		return &c.frontends[p.id].process
	case sched.Master:
		return &c.masters[p.id].process
	default:
		return &c.nodes[p.id].process
	}
}

// whenResumed calls f now or, if the daemon is paused, when it resumes, unless it dies
// before.
func (c *cluster) whenResumed(p *process, f func()) {
	life := p.life
	switch {
	case p.resumes <= c.now:
		f()
	default:
		c.callAt(p.resumes, func() {
			if p.alive && p.life == life {
				c.whenResumed(p, f)
			}
		})
	}
}

// after calls f after a delay, or later if the daemon is paused then, unless the daemon
// dies before.
func (c *cluster) after(p *process, d sched.Time, f func()) {
	life := p.life
	c.callAt(c.now+d, func() {
		if p.alive && p.life == life {
			c.whenResumed(p, f)
		}
	})
}

func (c *cluster) daemonsOf(r sched.Role) []*daemon {
	if r == sched.Master {
		return c.masters
	}
	return c.frontends
}

// workerByNumber returns the worker that a sender means by a number, or nil.
func (c *cluster) workerByNumber(by *daemon, number int32) *worker {
	list := c.byNumber
	if by != nil && by.role == sched.Master && !c.cfg.Policy.SingleMaster() {
		if int(number) >= len(by.members) {
			return nil
		}
		return by.members[number].worker
	}
	if int(number) >= len(list) {
		return nil
	}
	return list[number]
}

// followers returns the daemons that read the membership of a single master.
func (c *cluster) followers() (list []*process) {
	for _, f := range c.frontends {
		list = append(list, &f.process)
	}
	for _, n := range c.nodes {
		list = append(list, &n.process)
	}
	return list
}

func (c *cluster) processes() (list []*process) {
	for _, m := range c.masters {
		list = append(list, &m.process)
	}
	return append(list, c.followers()...)
}

// logf writes a line to the log of faults.
func (c *cluster) logf(format string, args ...any) {
	if c.log != nil {
		fmt.Fprintf(c.log, "%10s  %s\n", seconds(c.now), fmt.Sprintf(format, args...))
	}
}
