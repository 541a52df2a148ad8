package sim

import (
	"bufio"
	"context"
	"fmt"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// engine runs cores in virtual time: messages, timers, and the slots in which tasks run.
// With faults off there is nothing else, and a message reaches its core as it was sent.
type engine struct {
	cfg      Config
	work     []Job
	jobIndex map[sched.JobID]int32
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
	stopped  []int32 // runs that this step stopped; their ends are the next steps
	calls    calls
	beside   companions
	waste    waste
	learning *learning // what frontends learn; nil for nothing
	standbys *standbys // end masters; nil: none ends
	world    *world    // imitates the daemons around the cores; nil with faults off
	result   Outcome
	actions  *bufio.Writer
	passed   bool // the next event is later than a time can say
}

// Run simulates the workload to its end. It fails when the cores come to rest
// with jobs unfinished, or when ctx is done.
func Run(ctx context.Context, w []Job, cfg Config) (*Outcome, error) {
	if err := cfg.Valid(); err != nil {
		return nil, err
	}
	if err := cfg.CheckWide(w); err != nil {
		return nil, err
	}
	e := newEngine(w, cfg)
	e.boot()
	if cfg.Losses.Every > 0 {
		e.standbys = newStandbys(e, cfg.Losses)
	}
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
	if e.passed {
		return nil, e.tooLong()
	}
	if ended := e.result.Completed + e.result.Failed; ended < len(w) {
		return nil, fmt.Errorf("policy %s came to rest at %.3f s with %d of %d jobs unfinished%s", cfg.Policy.Name, float64(e.now)/1e9, len(w)-ended, len(w), e.whyAtRest())
	}
	return &e.result, nil
}

// tooLong is the error of a run whose next event is later than a time can say.
func (e *engine) tooLong() error {
	return fmt.Errorf("policy %s: the run of %d jobs lasts longer than 292 years, the most that the simulator can count; give shorter tasks, fewer jobs or more workers", e.cfg.Policy.Name, len(e.work))
}

// whyAtRest returns what keeps long jobs from their end, "" when they have workers.
func (e *engine) whyAtRest() string {
	for g := range e.cores[sched.Master] {
		if t := e.view(g).Totals(); t.Workers[sched.General] == 0 && t.Workers[sched.Reserved] > 0 {
			return fmt.Sprintf(": all %d workers of group %d are reserved for short tasks, which leaves none for long ones; reserve a smaller share, or add workers", t.Workers[sched.Reserved], g)
		}
	}
	return ""
}

// view returns what the master of a group shows of it.
func (e *engine) view(group int) sched.GroupView {
	return e.cores[sched.Master][group].(sched.MasterCore)
}

func newEngine(w []Job, cfg Config) *engine {
	e := &engine{cfg: cfg, work: w, jobIndex: make(map[sched.JobID]int32, len(w))}
	e.result.Jobs = make([]JobOutcome, len(w))
	tasks := 0
	for i := range w {
		e.result.Jobs[i].FirstTask = tasks
		tasks += len(w[i].Durations)
	}
	e.result.Starts = make([]sched.Time, tasks)
	if slices.ContainsFunc(w, func(j Job) bool { return j.Slots > 1 || j.Gang }) {
		e.waste.on, e.beside, e.result.Groups = true, companions{}, make([]int32, tasks)
	}
	for i := range e.result.Starts {
		e.result.Starts[i] = -1
	}
	if cfg.Actions != nil {
		e.actions = bufio.NewWriterSize(cfg.Actions, 1<<16)
	}
	if cfg.Learned {
		e.learning = newLearning(w, &cfg)
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
	e.runs.grow(len(e.group))
	e.waste.slots = make([]int, len(e.cores[sched.Master]))
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

// step processes the next event. It reports whether there was one.
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
	if best.at < 0 { // a sum of times that is too large is negative
		e.passed = true
		return false
	}
	if best.at < e.now {
		panic(fmt.Sprintf("the next event is due at %d, before now, %d", best.at, e.now))
	}
	e.now = best.at
	e.result.Events++
	switch next {
	case arrival:
		e.submit()
	case message:
		e.deliverMail()
	case due:
		e.fire(e.alarms.pop())
	}
	return true
}

func (e *engine) submit() {
	i := e.arrivals
	e.arrivals++
	frontend := e.work[i].Line % e.cfg.Frontends
	m := e.submission(i, frontend)
	e.jobIndex[m.Job] = int32(i)
	to := sched.Addr{Role: sched.Distributor, ID: int32(frontend)}
	e.observe(&m, -1, "submitted", to)
	if e.world != nil {
		e.world.frontendShells.jobArrives(frontend, m)
		return
	}
	e.deliver(sched.Addr{}, to, &m)
	if e.cfg.Inspector != nil {
		e.cfg.Inspector.Arrived(e.arrivals, func(r sched.Role) []sched.Core { return e.cores[r] })
	}
}

func (e *engine) submission(i, frontend int) sched.Message {
	j := &e.work[i]
	m := sched.Message{
		Kind: sched.Submit, Job: sched.NewJobID(sched.JobScope(fmt.Sprintf("frontend-%d", frontend)), fmt.Sprint(j.Line)),
		Key: uint64(j.Line), Class: class(j.Long), Estimate: j.Estimate, Count: int32(len(j.Durations)),
		Owner: j.Owner, Priority: j.Priority, Slots: j.Slots, Gang: j.Gang,
	}
	if e.cfg.Policy.Suspending {
		m.Marks = sched.Stoppable | sched.Restartable
	}
	switch {
	case e.learning != nil:
		e.learning.decide(e.now, i, frontend, &m)
	case j.Undeclared:
		m.Marks |= sched.Undeclared
	}
	return m
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

func (e *engine) fire(a alarm) {
	switch {
	case a.run >= 0:
		e.end(a)
	case a.run == isCall:
		e.calls.take(a.token)()
	case e.world != nil:
		e.world.hosts.timeout(a)
	case a.version != e.lifeOf(a.core): // the core has ended
	default:
		e.deliver(sched.Addr{}, a.core, &sched.Message{Kind: sched.Timeout, Token: a.token})
	}
}

// callAt calls f at the given instant.
func (e *engine) callAt(at sched.Time, f func()) {
	e.num++
	e.alarms.push(alarm{stamp: stamp{at, e.num}, token: e.calls.add(f), run: isCall})
}
