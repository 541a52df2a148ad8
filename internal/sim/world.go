package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// world is a cluster with faults: the engine, and imitated daemons around its cores.
//
//	engine ──actions──▶ world ──envelopes──▶ links, notices ──▶ world ──inputs──▶ engine
//	                      └── journal, registrations, heartbeats, memberships
//
// A core keeps its address in the engine for life; a restarted daemon has a new core with
// a new address. The numbers by which cores know daemons and workers are translated where
// messages are sent and received.
type world struct {
	engine
	faults    Faults
	manual    bool // set by tests that deliver messages and advance time themselves
	frontends []*daemon
	masters   []*daemon
	nodes     []*node
	hosts     [4][]*host // by the cores' addresses in the engine
	byNumber  []*worker  // workers by their number, under a policy with a single master
	links     []*link
	byRoute   map[route]*link
	notices   []*envelope          // undelivered, with manual
	cuts      map[route]sched.Time // partitions
	random    *rand.Rand           // draws what happens to messages
	plan      *rand.Rand           // draws the current fault
	planned   int                  // number of the current fault
	happened  []int                // numbers of the faults that happened
	tornAfter int                  // records after which a frontend crashes within its next step; -1: none does
	healed    bool                 // the faults are over
	finished  bool
	check     checker
	history   []step
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

	journal []sched.Message // of a frontend
	synced  int             // records that are on its disk
	syncing bool
	waiting []func() // acknowledgements that wait for the disk

	core        sched.MasterCore // of a master; nil under a policy without masters
	epoch       uint64           // of a master
	serves      []string
	members     []member // of a master: its workers, by number
	registered  map[int]registration
	payloads    map[sched.JobID]bool
	shortInRow  int    // short tasks in a row that general workers took from its queues
	version     uint64 // of its membership
	publishFrom sched.Time
}

// member is a worker from its master's point of view.
type member struct {
	worker   *worker // nil: never registered
	gone     bool
	reserved bool // as the master last set it
}

// registration is a node from its master's point of view.
type registration struct {
	life      int
	lastHeard sched.Time
}

// validCore is a core of any role, with its invariants.
type validCore interface {
	sched.Core
	Valid() error
}

// host is one core and the daemon in which it lives.
type host struct {
	addr    sched.Addr // in the engine
	p       *process
	life    int // of the daemon
	core    validCore
	newCore func() validCore // returns a new core with the same configuration
	daemon  *daemon
	worker  *worker
}

// dead reports whether the process of the core has ended.
func (h *host) dead() bool { return !h.p.alive || h.life != h.p.life }

func newWorld(jobs []Job, cfg Config, f Faults) *world {
	w := &world{
		engine: engine{cfg: cfg, jobIndex: map[sched.JobID]int32{}}, faults: f, byRoute: map[route]*link{}, cuts: map[route]sched.Time{},
		random: sched.Rand(f.Seed, messageStream), tornAfter: -1, check: newChecker(),
	}
	w.engine.world = w
	for _, j := range jobs {
		w.addJob(j)
	}
	for i := range cfg.Frontends {
		w.frontends = append(w.frontends, &daemon{process: process{daemonID: daemonID{sched.Distributor, i}}})
	}
	for g, nodes := range f.nodes(&cfg) {
		w.masters = append(w.masters, &daemon{process: process{daemonID: daemonID{sched.Master, g}}})
		for _, n := range nodes {
			w.nodes = append(w.nodes, &node{process: process{daemonID: daemonID{sched.Worker, len(w.nodes)}}, group: g, spec: n})
		}
	}
	return w
}

// startDaemons starts all daemons. Nothing is delivered yet.
func (w *world) startDaemons() {
	for g := range w.masters {
		w.startMaster(g)
	}
	for n := range w.nodes {
		w.startNode(n)
	}
	for f := range w.frontends {
		w.startFrontend(f)
	}
}

func (w *world) addJob(j Job) {
	w.result.Jobs = append(w.result.Jobs, JobOutcome{FirstTask: len(w.result.Starts)})
	for range j.Durations {
		w.result.Starts = append(w.result.Starts, -1)
	}
	w.work = append(w.work, j)
}

func (w *world) process(p daemonID) *process {
	switch p.role {
	case sched.Distributor:
		return &w.frontends[p.id].process
	case sched.Master:
		return &w.masters[p.id].process
	default:
		return &w.nodes[p.id].process
	}
}

// addHost assigns a core its address in the engine.
func (w *world) addHost(role sched.Role, p *process, newCore func() validCore) *host {
	h := &host{addr: sched.Addr{Role: role, ID: int32(len(w.hosts[role]))}, p: p, life: p.life, core: newCore(), newCore: newCore} //nolint:gosec // cores are few
	w.hosts[role] = append(w.hosts[role], h)
	w.add(h.addr, h.core)
	if role == sched.Worker {
		w.runs.grow(len(w.hosts[role]))
	}
	return h
}

// hostOf returns the host of a core.
func (w *world) hostOf(a sched.Addr) *host { return w.hosts[a.Role][a.ID] }

// stepCore steps a core and carries out its actions.
func (w *world) stepCore(h *host, from sched.Addr, m *sched.Message) {
	if w.check.err != nil || h == nil || h.dead() {
		return
	}
	w.out.Reset()
	now := h.p.clock.read(w.now)
	h.core.Step(now, from, m, &w.out)
	list := w.out.List()
	w.recordStep(h, now, from, m, list)
	w.checkStep(h, m, list)
	if h.daemon != nil && h.p.role == sched.Distributor && w.crashInStep(h.daemon, list) {
		return
	}
	for i := range list {
		w.act(h.addr, &list[i])
	}
	for len(w.stopped) > 0 && w.check.err == nil {
		i := w.stopped[0]
		w.stopped = w.stopped[1:]
		w.finish(i, sched.Killed)
	}
}

// timeout is called when a timer is due.
func (w *world) timeout(a alarm) {
	h := w.hostOf(a.core)
	if h.dead() {
		return
	}
	if h.p.resumes > w.now {
		w.postpone(a, h.p.resumes)
		return
	}
	w.stepCore(h, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: a.token})
}

// postpone defers an alarm.
func (w *world) postpone(a alarm, to sched.Time) {
	w.num++
	a.stamp = stamp{to, w.num}
	w.alarms.push(a)
}

// timerDue converts the instant of a core's timer from the clock of its process.
func (w *world) timerDue(self sched.Addr, at sched.Time) sched.Time {
	return max(w.now, w.hostOf(self).p.clock.instant(at))
}

// whenResumed calls f now or, if the daemon is paused, when it resumes, unless it dies
// before.
func (w *world) whenResumed(p *process, f func()) {
	life := p.life
	switch {
	case p.resumes <= w.now:
		f()
	default:
		w.callAt(p.resumes, func() {
			if p.alive && p.life == life {
				w.whenResumed(p, f)
			}
		})
	}
}

// after calls f after a delay, or later if the daemon is paused then, unless the daemon
// dies before.
func (w *world) after(p *process, d sched.Time, f func()) {
	life := p.life
	w.callAt(w.now+d, func() {
		if p.alive && p.life == life {
			w.whenResumed(p, f)
		}
	})
}

// chance reports true once in n times, if the kind of fault is enabled.
func (w *world) chance(k Kinds, n int) bool {
	return !w.healed && w.faults.Kinds.Has(k) && w.random.IntN(n) == 0
}

// drawSpan draws a time below d.
func drawSpan(r *rand.Rand, d sched.Time) sched.Time { return sched.Time(r.Int64N(int64(d))) }

// clock is the clock of one process.
type clock struct {
	start sched.Time // its reading at time 0
	ppm   sched.Time // its drift, in millionths
}

func (c clock) read(now sched.Time) sched.Time { return c.start + now + now/1_000_000*c.ppm }

// instant returns the first instant at which the clock shows the given time.
func (c clock) instant(shown sched.Time) sched.Time {
	at := (shown - c.start) / (1_000_000 + c.ppm) * 1_000_000
	at = max(0, at-1_000_000)
	for c.read(at) < shown {
		at += max(1, (shown-c.read(at))/2)
	}
	return at
}
