package sim

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// cluster holds the daemons, in the virtual time of the engine. Every component of the
// world looks daemons up here.
type cluster struct {
	*engine
	frontends []*daemon
	masters   []*daemon
	nodes     []*node
	formers   []*daemon // masters and frontends that another process has followed
	byNumber  []*worker // workers by their number, under a policy with a single master
	manual    bool      // a test delivers messages and advances time itself
	log       io.Writer // receives a line for each fault; nil for none
}

// daemonID names a daemon: a frontend, a master or (Worker) a node. One that another process
// has followed under its name has a negative number.
type daemonID struct {
	role sched.Role
	id   int
}

func (p daemonID) String() string {
	switch {
	case p.id < 0:
		return fmt.Sprintf("former %s %d", p.role, -p.id)
	case p.role == sched.Worker:
		return fmt.Sprintf("node %d", p.id)
	default:
		return fmt.Sprintf("%s %d", p.role, p.id)
	}
}

// process is one daemon through all its lives.
type process struct {
	daemonID
	alive      bool
	gone       bool // its machine never returns
	life       int  // counts its starts
	started    sched.Time
	resumes    sched.Time // it is paused until then
	clock      clock
	membership membership // as it has read it
}

// daemon is a frontend or a master.
type daemon struct {
	process
	name int              // the number under which it acts
	host *host            // of its core; nil at a registrar
	met  map[daemonID]int // the last life of each daemon that it has heard from

	lost      map[int]bool       // masters that it has declared lost
	lastHeard map[int]sched.Time // by master
	pauses    protocol.Pauses    // between two heartbeats

	journal *journal // of a frontend

	// For a master:
	registrations
	core       sched.MasterCore // nil under a policy without masters
	epoch      uint64
	serves     []string
	shortInRow int // short tasks in a row that general workers took from its queues
}

func newCluster(cfg Config, f *Faults) *cluster {
	c := &cluster{engine: &engine{cfg: cfg, jobIndex: map[sched.JobID]int32{}}, log: f.Log, manual: f.manual}
	for i := range cfg.Frontends {
		c.frontends = append(c.frontends, &daemon{name: i, process: process{daemonID: daemonID{sched.Distributor, i}}})
	}
	for g, nodes := range f.nodes(&cfg) {
		c.masters = append(c.masters, &daemon{name: g, process: process{daemonID: daemonID{sched.Master, g}}})
		for _, n := range nodes {
			c.addNode(g, n)
		}
	}
	return c
}

// addNode adds a machine to a group.
func (c *cluster) addNode(group int, spec Node) *node {
	n := &node{process: process{daemonID: daemonID{sched.Worker, len(c.nodes)}}, group: group, spec: spec, leader: daemonID{sched.Master, group}}
	c.nodes = append(c.nodes, n)
	return n
}

func (c *cluster) process(p daemonID) *process {
	if p.role == sched.Worker {
		return &c.nodes[p.id].process
	}
	return &c.daemon(p).process
}

// daemon returns a frontend or a master.
func (c *cluster) daemon(p daemonID) *daemon {
	switch {
	case p.id < 0:
		return c.formers[-p.id-1]
	case p.role == sched.Distributor:
		return c.frontends[p.id]
	default:
		return c.masters[p.id]
	}
}

// actsAs returns the name under which a daemon acts, or acted.
func (c *cluster) actsAs(p daemonID) daemonID {
	if p.id < 0 {
		p.id = c.daemon(p).name
	}
	return p
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
