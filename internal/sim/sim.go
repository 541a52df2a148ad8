package sim

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Config is one simulated cluster and how it is watched.
type Config struct {
	Policy    sched.Policy
	Params    sched.Params
	Groups    []int      // workers of each group
	Frontends int        // job k goes to frontend k mod Frontends
	Delay     sched.Time // of a message, one way
	Seed      uint64
	Observer  Observer  // nil for none
	Inspector Inspector // nil for none
	Actions   io.Writer // where the cores' actions are written as text, nil for nowhere
}

// Observer sees the life of every task.
type Observer interface {
	// Event tells that at the given instant something happened to a task of the
	// job with the given index in the workload (task -1: to the job itself). The
	// address is where.
	Event(at sched.Time, job int, task, attempt int32, what string, where sched.Addr)
}

// Inspector may look at the cores between two events; it changes nothing.
type Inspector interface {
	// Arrived tells that so many jobs have arrived, the last one just now.
	Arrived(jobs int, cores func(sched.Role) []sched.Core)
}

// Job is one job of a workload. Its key is its line: what is drawn for a job is drawn
// from (seed, key), simulated and live alike.
type Job struct {
	Line      int
	Arrival   sched.Time
	Estimate  sched.Time // of one task, as the submitter states it
	Long      bool       // the class that the scheduler is told
	Durations []int64    // of each task, in nanoseconds; read, never written
}

// Outcome is what a run gave.
type Outcome struct {
	Jobs        []JobOutcome
	Starts      []sched.Time // first start of every task, jobs one after another
	Completed   int
	Failed      int
	Attempts    int
	Messages    uint64    // between cores; a batch of k tasks counts k
	Sent        [4]uint64 // of these, by the role that sent them
	Suspensions uint64
	Makespan    sched.Time // from time 0 to the last report
	Busy        sched.Time // sum of the time workers ran tasks
	Events      uint64
}

// JobOutcome is how one job fared.
type JobOutcome struct {
	Completion sched.Time // from its arrival to the report of its last task
	FirstTask  int        // index of its first task in Outcome.Starts
	Ended      bool
}

type engine struct {
	cfg      Config
	work     []Job
	ids      map[sched.JobID]int32
	cores    [4][]sched.Core // by role
	group    []int32         // master of each worker
	mail     ring
	alarms   heap
	runs     runTable
	arrivals int // next job to arrive
	num      uint64
	now      sched.Time
	counting bool
	out      sched.Actions
	result   Outcome
	actions  *bufio.Writer
}

// Run simulates the workload to its end. It fails when the cores come to rest
// with jobs unfinished, or when ctx is done.
func Run(ctx context.Context, w []Job, cfg Config) (*Outcome, error) {
	if err := cfg.Valid(); err != nil {
		return nil, err
	}
	e := newEngine(w, cfg)
	e.boot()
	for e.step() {
		if e.result.Events&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if e.actions != nil {
		if err := e.actions.Flush(); err != nil {
			return nil, fmt.Errorf("writing the actions: %w", err)
		}
	}
	if ended := e.result.Completed + e.result.Failed; ended < len(w) {
		return nil, fmt.Errorf("policy %s came to rest at %.3f s with %d of %d jobs unfinished", cfg.Policy.Name, float64(e.now)/1e9, len(w)-ended, len(w))
	}
	return &e.result, nil
}

// Valid refuses a cluster that cannot be, or not under its policy.
func (c *Config) Valid() error {
	switch {
	case c.Policy.NewDistributor == nil || c.Policy.NewWorker == nil:
		return fmt.Errorf("the policy %q has no distributor or no worker", c.Policy.Name)
	case c.Frontends < 1:
		return fmt.Errorf("%d frontends: at least one is needed", c.Frontends)
	case len(c.Groups) == 0:
		return fmt.Errorf("no group: at least one is needed")
	case c.Delay < 0:
		return fmt.Errorf("the message delay is negative (%d ns)", c.Delay)
	}
	for i, n := range c.Groups {
		if n < 1 {
			return fmt.Errorf("group %d has %d workers: each needs at least one", i, n)
		}
	}
	return c.whole()
}

func newEngine(w []Job, cfg Config) *engine {
	e := &engine{cfg: cfg, work: w, ids: make(map[sched.JobID]int32, len(w))}
	e.result.Jobs = make([]JobOutcome, len(w))
	tasks := 0
	for i := range w {
		e.result.Jobs[i].FirstTask = tasks
		tasks += len(w[i].Durations)
	}
	e.result.Starts = make([]sched.Time, tasks)
	for i := range e.result.Starts {
		e.result.Starts[i] = -1
	}
	if cfg.Actions != nil {
		e.actions = bufio.NewWriterSize(cfg.Actions, 1<<16)
	}
	for i := range cfg.Frontends {
		a := sched.Addr{Role: sched.Distributor, ID: int32(i)}
		e.add(a, cfg.Policy.NewDistributor(sched.DistributorConfig{Self: a, Seed: cfg.Seed, Params: cfg.Params}))
	}
	groups := cfg.Groups
	if cfg.Policy.Central {
		groups = []int{sum(groups)}
	}
	for g, size := range groups {
		e.addGroup(int32(g), size)
	}
	e.runs.init(len(e.group))
	return e
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

func (e *engine) add(a sched.Addr, c sched.Core) { e.cores[a.Role] = append(e.cores[a.Role], c) }

func (e *engine) addGroup(g int32, size int) {
	master := sched.Addr{Role: sched.Master, ID: g}
	if e.cfg.Policy.NewMaster != nil {
		e.add(master, e.cfg.Policy.NewMaster(sched.MasterConfig{Self: master, Seed: e.cfg.Seed, Params: e.cfg.Params}))
	}
	for range size / e.cfg.cores() {
		a := sched.Addr{Role: sched.Worker, ID: int32(len(e.group))}
		e.add(a, e.cfg.Policy.NewWorker(sched.WorkerConfig{Self: a, Seed: e.cfg.Seed, Params: e.cfg.Params, Master: master}))
		e.group = append(e.group, g)
	}
}

// boot registers workers with masters and masters with distributors, and tells
// those who speak to workers which there are, at time 0 and without delay,
// before anything is counted.
func (e *engine) boot() {
	delay := e.cfg.Delay
	e.cfg.Delay = 0
	builtIn := []string{""}
	shell := sched.Addr{}
	for i, g := range e.group {
		if e.cfg.Policy.NewMaster == nil {
			break
		}
		up := sched.Message{Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: int32(i)}, Node: fmt.Sprintf("node-%06d", i), Serves: builtIn}
		e.deliver(shell, sched.Addr{Role: sched.Master, ID: g}, &up)
	}
	for e.mail.size > 0 {
		e.deliverMail()
	}
	for d := range e.cores[sched.Distributor] {
		for g := range e.cores[sched.Master] {
			up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(g)}, Serves: builtIn}
			e.deliver(shell, sched.Addr{Role: sched.Distributor, ID: int32(d)}, &up)
		}
	}
	e.introduce()
	e.acquaint()
	for e.mail.size > 0 {
		e.deliverMail()
	}
	e.cfg.Delay = delay
	e.counting = true
}

// introduce tells the masters of each other, where they hand each other tasks.
func (e *engine) introduce() {
	if !e.cfg.Policy.CrossGroup {
		return
	}
	for self := range e.cores[sched.Master] {
		for other := range e.cores[sched.Master] {
			if other != self {
				up := sched.Message{Kind: sched.MasterUp, Peer: sched.Addr{Role: sched.Master, ID: int32(other)}, Serves: []string{""}}
				e.deliver(sched.Addr{}, sched.Addr{Role: sched.Master, ID: int32(self)}, &up)
			}
		}
	}
}

// acquaint tells those who speak to workers themselves which there are. All get
// one list.
func (e *engine) acquaint() {
	p := &e.cfg.Policy
	if p.NewMaster != nil && !p.Central {
		return
	}
	members := make([]sched.Member, len(e.group))
	for i, g := range e.group {
		members[i].Worker = sched.Addr{Role: sched.Worker, ID: int32(i)}
		if p.NewMaster != nil {
			members[i].Master = sched.Addr{Role: sched.Master, ID: g}
		}
	}
	m := sched.Message{Kind: sched.Members, More: &sched.More{Members: members}}
	told := []sched.Role{sched.Distributor}
	if p.PeerAware {
		told = append(told, sched.Worker)
	}
	for _, role := range told {
		for id := range e.cores[role] {
			e.deliver(sched.Addr{}, sched.Addr{Role: role, ID: int32(id)}, &m)
		}
	}
}

// step takes the next event; false when there is none.
func (e *engine) step() bool {
	const arrival, message, due, none = 0, 1, 2, 3
	next, best := none, stamp{}
	if e.arrivals < len(e.work) {
		next, best = arrival, stamp{e.work[e.arrivals].Arrival, 0}
	}
	if e.mail.size > 0 && (next == none || e.mail.head().before(best)) {
		next, best = message, e.mail.head().stamp
	}
	if len(e.alarms) > 0 && (next == none || e.alarms[0].before(best)) {
		next, best = due, e.alarms[0].stamp
	}
	if next == none {
		return false
	}
	e.now = best.at
	e.result.Events++
	switch next {
	case arrival:
		e.submit()
	case message:
		e.deliverMail()
	case due:
		e.alarm(e.alarms.pop())
	}
	return true
}

func (e *engine) submit() {
	i := e.arrivals
	e.arrivals++
	j := &e.work[i]
	frontend := j.Line % e.cfg.Frontends
	m := sched.Message{
		Kind: sched.Submit, Job: sched.NewJobID(fmt.Sprintf("frontend-%d", frontend), fmt.Sprint(j.Line)),
		Key: uint64(j.Line), Class: class(j.Long), Estimate: j.Estimate, Count: int32(len(j.Durations)),
	}
	if e.cfg.Policy.Suspending {
		m.Marks = sched.Stoppable | sched.Restartable
	}
	e.ids[m.Job] = int32(i)
	to := sched.Addr{Role: sched.Distributor, ID: int32(frontend)}
	e.observe(&m, -1, "submitted", to)
	e.deliver(sched.Addr{}, to, &m)
	if e.cfg.Inspector != nil {
		e.cfg.Inspector.Arrived(e.arrivals, func(r sched.Role) []sched.Core { return e.cores[r] })
	}
}

func class(long bool) sched.Class {
	if long {
		return sched.Long
	}
	return sched.Short
}

func (e *engine) deliverMail() {
	m := e.mail.head()
	from, to, msg := m.from, m.to, m.msg
	e.mail.pop()
	e.deliver(from, to, &msg)
}

func (e *engine) alarm(a alarm) {
	if a.run >= 0 {
		e.end(a)
		return
	}
	e.deliver(sched.Addr{}, a.core, &sched.Message{Kind: sched.Timeout, Token: a.token})
}

// deliver steps the core and carries its actions out.
func (e *engine) deliver(from, to sched.Addr, m *sched.Message) {
	e.out.Reset()
	e.cores[to.Role][to.ID].Step(e.now, from, m, &e.out)
	list := e.out.List()
	for i := range list {
		if e.actions != nil {
			fmt.Fprintf(e.actions, "%d %s: %s\n", e.now, to, sched.DescribeAction(&list[i]))
		}
		e.act(to, &list[i])
	}
}

func (e *engine) act(self sched.Addr, a *sched.Action) {
	switch a.Kind {
	case sched.Send:
		e.send(self, a)
	case sched.Timer:
		e.num++
		e.alarms.push(alarm{stamp: stamp{a.At, e.num}, core: self, token: a.Token, run: -1})
	case sched.Start:
		e.start(self, &a.Msg)
	case sched.Suspend:
		e.suspend(self, &a.Msg)
	case sched.Resume:
		e.resume(self, &a.Msg)
	case sched.Stop:
		e.stop(self, &a.Msg)
	case sched.Persist:
		e.persist(self, &a.Msg)
	}
}

func (e *engine) send(self sched.Addr, a *sched.Action) {
	if a.To.ID == sched.Everyone {
		for id := range e.cores[a.To.Role] {
			if to := (sched.Addr{Role: a.To.Role, ID: int32(id)}); to != self {
				e.post(self, to, &a.Msg)
			}
		}
		return
	}
	e.post(self, a.To, &a.Msg)
}

func (e *engine) post(from, to sched.Addr, m *sched.Message) {
	e.num++
	p := e.mail.push()
	p.stamp, p.from, p.to, p.msg = stamp{e.now + e.cfg.Delay, e.num}, from, to, *m
	if e.counting {
		e.result.Messages += uint64(m.Tasks())
		e.result.Sent[from.Role] += uint64(m.Tasks())
	}
	if e.cfg.Observer != nil && m.Kind == sched.Launch {
		e.observe(m, m.First, "launched", from)
	}
}

// persist sees what the distributors enter into their books.
func (e *engine) persist(self sched.Addr, m *sched.Message) {
	switch m.Kind {
	case sched.TaskEnded:
		e.observe(m, m.First, "reported", self)
	case sched.JobEnded:
		i := e.ids[m.Job]
		j := &e.result.Jobs[i]
		j.Ended, j.Completion = true, e.now-e.work[i].Arrival
		e.result.Makespan = e.now
		if m.Outcome == sched.Done {
			e.result.Completed++
			e.observe(m, -1, "completed", self)
		} else {
			e.result.Failed++
			e.observe(m, -1, "failed", self)
		}
	}
}

func (e *engine) observe(m *sched.Message, task int32, what string, where sched.Addr) {
	if e.cfg.Observer != nil {
		e.cfg.Observer.Event(e.now, int(e.ids[m.Job]), task, m.Attempt, what, where)
	}
}
