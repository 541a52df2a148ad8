package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// World is a cluster with faults: the engine, and around its cores what the daemons do.
//
//	engine ──actions──▶ World ──envelopes──▶ links, notices ──▶ World ──inputs──▶ engine
//	                      └── journal, registrations, heartbeats, memberships
//
// A core keeps its address in the engine for life: one that is started again is another
// one. What cores know each other by, the numbers of daemons and workers, is translated
// where messages are sent and received.
type World struct {
	engine
	faults    Faults
	byHand    bool // nothing happens by itself: messages wait to be delivered, time to be advanced
	frontends []*daemon
	masters   []*daemon
	nodes     []*node
	hosts     [4][]*host // by the cores' addresses in the engine
	byNumber  []*worker  // workers by their number, under a policy with a single master
	links     []*link
	byEnds    map[ends]*link
	notices   []*envelope  // that wait, by hand
	cuts      map[ends]cut // partitions
	random    *rand.Rand   // of messages
	plan      *rand.Rand   // of the fault whose turn it is
	planned   int          // its number
	struck    []int        // numbers of those that happened
	torn      torn         // a frontend that dies within a step
	healed    bool         // the faults are over
	finished  bool
	check     checker
	history   []step
}

// place names a daemon: a frontend, a master or (Worker) a node.
type place struct {
	role sched.Role
	id   int
}

func (p place) String() string {
	switch p.role {
	case sched.Worker:
		return fmt.Sprintf("node %d", p.id)
	default:
		return fmt.Sprintf("%s %d", p.role, p.id)
	}
}

// process is one daemon through all its lives.
type process struct {
	place
	alive   bool
	life    int // counts its starts
	started sched.Time
	resumes sched.Time // it stands still until then
	clock   clock
	follows followed // the membership that it has read
}

// daemon is a frontend or a master.
type daemon struct {
	process
	host *host // of its core; its core is nil at a master that only keeps the membership

	lost  map[int]bool       // masters that it takes for lost
	heard map[int]sched.Time // when it heard of a master last

	journal []sched.Message // of a frontend
	synced  int             // records that are on its disk
	syncing bool
	waiting []func() // acknowledgements that wait for the disk

	core       sched.MasterCore // of a master; nil under a policy without masters
	epoch      uint64           // of a master
	serves     []string
	members    []member // workers by the numbers that it knows them by
	registered map[int]registration
	payloads   map[sched.JobID]bool
	passed     int    // short tasks in a row that general workers took from its queues
	version    uint64 // of its membership
	publishes  sched.Time
}

// member is a worker as a master knows it.
type member struct {
	worker   *worker // nil: never registered
	gone     bool
	reserved bool // as the master told it
}

// registration is a node as a master knows it.
type registration struct {
	life  int
	heard sched.Time
}

// checked is a core of any role, with its invariants.
type checked interface {
	sched.Core
	Valid() error
}

// host is one core and the daemon in which it lives.
type host struct {
	addr   sched.Addr // in the engine
	p      *process
	life   int // of the daemon
	core   checked
	renew  func() checked // makes another one like it
	daemon *daemon
	worker *worker
}

// dead reports whether the core's daemon has ended, or is another process by now.
func (h *host) dead() bool { return !h.p.alive || h.life != h.p.life }

func newWorld(jobs []Job, cfg Config, f Faults) *World {
	w := &World{
		engine: engine{cfg: cfg, ids: map[sched.JobID]int32{}}, faults: f, byEnds: map[ends]*link{}, cuts: map[ends]cut{},
		random: sched.Rand(f.Seed, messageStream), torn: torn{after: -1}, check: newChecker(),
	}
	w.engine.world = w
	for _, j := range jobs {
		w.addJob(j)
	}
	for i := range cfg.Frontends {
		w.frontends = append(w.frontends, &daemon{process: process{place: place{sched.Distributor, i}}})
	}
	for g, nodes := range f.nodes(&cfg) {
		w.masters = append(w.masters, &daemon{process: process{place: place{sched.Master, g}}})
		for _, n := range nodes {
			w.nodes = append(w.nodes, &node{process: process{place: place{sched.Worker, len(w.nodes)}}, group: g, is: n})
		}
	}
	return w
}

// start starts all daemons. Nothing is delivered yet.
func (w *World) start() {
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

func (w *World) addJob(j Job) {
	w.result.Jobs = append(w.result.Jobs, JobOutcome{FirstTask: len(w.result.Starts)})
	for range j.Durations {
		w.result.Starts = append(w.result.Starts, -1)
	}
	w.work = append(w.work, j)
}

func (w *World) process(p place) *process {
	switch p.role {
	case sched.Distributor:
		return &w.frontends[p.id].process
	case sched.Master:
		return &w.masters[p.id].process
	default:
		return &w.nodes[p.id].process
	}
}

// addHost gives a core its address in the engine.
func (w *World) addHost(role sched.Role, p *process, renew func() checked) *host {
	h := &host{addr: sched.Addr{Role: role, ID: int32(len(w.hosts[role]))}, p: p, life: p.life, core: renew(), renew: renew} //nolint:gosec // cores are few
	w.hosts[role] = append(w.hosts[role], h)
	w.add(h.addr, h.core)
	if role == sched.Worker {
		w.runs.grow(len(w.hosts[role]))
	}
	return h
}

// at returns the host of a core.
func (w *World) at(a sched.Addr) *host { return w.hosts[a.Role][a.ID] }

// input steps a core and carries out what it decides.
func (w *World) input(h *host, from sched.Addr, m *sched.Message) {
	if w.check.err != nil || h == nil || h.dead() {
		return
	}
	w.out.Reset()
	now := h.p.clock.read(w.now)
	h.core.Step(now, from, m, &w.out)
	list := w.out.List()
	w.note(h, now, from, m, list)
	w.checkStep(h, m, list)
	if h.daemon != nil && h.p.role == sched.Distributor && w.tear(h.daemon, list) {
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
func (w *World) timeout(a alarm) {
	h := w.at(a.core)
	if h.dead() {
		return
	}
	if h.p.resumes > w.now {
		w.postpone(a, h.p.resumes)
		return
	}
	w.input(h, sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: a.token})
}

// postpone puts an alarm off.
func (w *World) postpone(a alarm, to sched.Time) {
	w.num++
	a.stamp = stamp{to, w.num}
	w.alarms.push(a)
}

// due returns when a timer of a core is due.
func (w *World) due(self sched.Addr, at sched.Time) sched.Time {
	return max(w.now, w.at(self).p.clock.instant(at))
}

// awake calls f now, or when the daemon goes on, unless that has died by then.
func (w *World) awake(p *process, f func()) {
	life := p.life
	switch {
	case p.resumes <= w.now:
		f()
	default:
		w.call(p.resumes, func() {
			if p.alive && p.life == life {
				w.awake(p, f)
			}
		})
	}
}

// after calls f after a time, unless the daemon has died by then; when it stands still,
// later.
func (w *World) after(p *process, d sched.Time, f func()) {
	life := p.life
	w.call(w.now+d, func() {
		if p.alive && p.life == life {
			w.awake(p, f)
		}
	})
}

// chance reports true once in n times, if the kind of fault happens.
func (w *World) chance(k Kinds, n int) bool {
	return !w.healed && w.faults.Kinds.Has(k) && w.random.IntN(n) == 0
}

// span draws a time below d.
func (w *World) span(r *rand.Rand, d sched.Time) sched.Time { return sched.Time(r.Int64N(int64(d))) }

// clock is the clock of one process.
type clock struct {
	start sched.Time // what it shows at time 0
	ppm   sched.Time // by how much it is fast, in millionths
}

func (c clock) read(now sched.Time) sched.Time { return c.start + now + now/1_000_000*c.ppm }

// instant returns the first instant at which the clock shows the time.
func (c clock) instant(shown sched.Time) sched.Time {
	at := (shown - c.start) / (1_000_000 + c.ppm) * 1_000_000
	at = max(0, at-1_000_000)
	for c.read(at) < shown {
		at += max(1, (shown-c.read(at))/2)
	}
	return at
}
