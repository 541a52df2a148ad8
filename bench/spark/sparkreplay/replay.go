package sparkreplay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// MaxDrivers bounds the drivers of one replay; each is a JVM.
const MaxDrivers = 256

// Options describe a replay.
type Options struct {
	// Drivers is how many Spark applications share the workload.
	Drivers int
	// Programs start them: driver k is started by number k mod their count.
	Programs []Program
	// Master is Spark's, for a driver.
	Master func(driver int) string
	// Jar of Pigeon's plugin, for --jars; "" where the program adds it.
	Jar string
	// Executors that a driver waits for before it is ready, and has run tasks.
	Executors int
	// Within bounds how long a driver waits for them; default two minutes.
	Within time.Duration
	// Settings of Spark, KEY=VALUE.
	Settings []string

	// Progress, if set, is called a few times a second from the start of the clock.
	Progress func(replay.Progress)
	// Waiting, if set, is called when more drivers have become ready.
	Waiting func(ready, drivers int)
	// Died, if set, is called when a driver ends after the start with jobs left.
	Died func(error)
	// Failed, if set, ends the replay with the error that it receives.
	Failed <-chan error
}

// Check returns why a replay of that many jobs is not possible.
func (o *Options) Check(jobs int) error {
	tried := "dealing the jobs to the drivers; nothing was started"
	switch {
	case o.Drivers < 1 || o.Drivers > MaxDrivers:
		return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("%d drivers are outside 1 to %d", o.Drivers, MaxDrivers), Subject: "--drivers", Tried: tried, Next: "each driver is a JVM of its own; give a number within that"}
	case o.Drivers > jobs:
		return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("%d drivers cannot share %d jobs", o.Drivers, jobs), Subject: "--drivers", Tried: tried, Next: "give at most as many drivers as jobs"}
	}
	return nil
}

const (
	// startAllowance is the time beyond Options.Within that a driver may take to start.
	startAllowance = 2 * time.Minute
	// grace is the time a driver has to end by itself at the end of its input.
	grace = 15 * time.Second
)

// member is one of the drivers. It belongs to the goroutine of Run, except for jobs.
type member struct {
	*driver.Driver
	number int
	place  *Program
	jobs   []int // in the workload, in order; constant

	executors, sent bool // it has answered that it is ready; it has its jobs
	finished        bool // it has answered the replay
	ended           bool
	left            int // jobs without a record
}

// has reports whether a job of the workload is this driver's.
func (m *member) has(job int) bool {
	_, ok := slices.BinarySearch(m.jobs, job)
	return ok
}

func (m *member) ready() bool { return m.executors && m.sent }

// event is a report of a driver's goroutine to the goroutine of Run.
type event struct {
	driver *member
	answer *driver.Answer // nil: its jobs were sent, or it ended
	ended  bool
}

// run is a replay in progress. It belongs to the goroutine of Run.
type run struct {
	o       *Options
	work    *workload.Workload
	drivers []*member
	events  chan event
	ready   int
	alive   int
	outcome *outcome
	partial bool
}

// Run replays the workload, in its own time. When ctx ends before the workload does,
// or a driver ends early, the outcome is partial and not an error. When it returns all
// drivers have ended.
func Run(ctx context.Context, w *workload.Workload, o Options) (*replay.Measured, error) {
	if err := o.Check(len(w.Jobs)); err != nil {
		return nil, err
	}
	if o.Within == 0 {
		o.Within = 2 * time.Minute
	}
	group := childproc.NewGroup()
	defer group.Close(grace)
	r := &run{o: &o, work: w, events: make(chan event), outcome: newOutcome(w)}
	var followers sync.WaitGroup
	defer followers.Wait()
	defer r.endAll()
	if err := r.start(group, &followers); err != nil {
		return nil, err
	}
	if err := r.awaitReady(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	for _, d := range r.drivers {
		_ = d.Send(driver.Replay) // the end of a driver is an event
	}
	if err := r.replay(ctx, began); err != nil {
		return nil, err
	}
	return r.outcome.measured(began, time.Since(began), r.partial), nil
}

// start deals the jobs and starts the drivers.
func (r *run) start(group *childproc.Group, followers *sync.WaitGroup) error {
	for k := range r.o.Drivers {
		m := &member{number: k}
		for i := k; i < len(r.work.Jobs); i += r.o.Drivers {
			m.jobs = append(m.jobs, i)
		}
		m.left = len(m.jobs)
		p, argv := r.o.command(k)
		m.place = p
		var err error
		if m.Driver, err = driver.Start(group, childproc.Command{Name: m.String(), Argv: argv, Env: p.Env}); err != nil {
			return &api.Error{Problem: api.Internal, What: err.Error(), Subject: p.Place, Tried: "starting " + argv[0], Next: "see whether that program runs by itself"}
		}
		r.drivers = append(r.drivers, m)
		r.alive++
		followers.Go(func() { r.follow(m) })
	}
	return nil
}

func (m *member) String() string { return fmt.Sprintf("driver %d", m.number) }

// follow sends a driver its jobs and reports its answers, until it has ended.
func (r *run) follow(m *member) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = m.WriteJobs(r.work, m.jobs, r.work.Jobs[0].Arrival) // the end of a driver is an event
	}()
	for unreported := sent; ; {
		select {
		case <-unreported:
			unreported = nil
			r.events <- event{driver: m}
		case a, open := <-m.Answers():
			if !open {
				<-sent
				_ = m.Err() // it waits for the end
				r.events <- event{driver: m, ended: true}
				return
			}
			r.events <- event{driver: m, answer: a}
		}
	}
}

// awaitReady waits until every driver is ready.
func (r *run) awaitReady(ctx context.Context) error {
	patience := r.o.Within + startAllowance
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for r.ready < len(r.drivers) {
		select {
		case e := <-r.events:
			if err := r.prepare(ctx, e); err != nil {
				return fmt.Errorf("no job was submitted: %w", err)
			}
		case err := <-r.o.Failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("no job was submitted: %w, when %d of %d drivers were ready", context.Cause(ctx), r.ready, len(r.drivers))
		case <-timeout.C:
			return r.unready(ctx, patience)
		}
	}
	return nil
}

// prepare applies an event before the start.
func (r *run) prepare(ctx context.Context, e event) error {
	m := e.driver
	switch {
	case e.ended:
		r.remove(m)
		return m.died(ctx, m.Err(), "before it was ready")
	case e.answer == nil:
		m.sent = true
	case e.answer.Ready != nil && !m.executors:
		m.executors = true
	default:
		return fmt.Errorf("%s on %s answered before the start command; the plugin's jar is of another version than this program", m, m.place.Place)
	}
	if m.ready() {
		r.ready++
		if r.o.Waiting != nil {
			r.o.Waiting(r.ready, len(r.drivers))
		}
	}
	return nil
}

// unready returns the error of a driver that did not become ready.
func (r *run) unready(ctx context.Context, patience time.Duration) error {
	for _, m := range r.drivers {
		if !m.ready() {
			return fmt.Errorf("no job was submitted: %d of %d drivers were ready within %v: %w", r.ready, len(r.drivers), patience, m.died(ctx, nil, "since it was not ready"))
		}
	}
	return nil
}

// replay follows the drivers until all have finished or have ended, or ctx ends.
func (r *run) replay(ctx context.Context, began time.Time) error {
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	for slices.ContainsFunc(r.drivers, func(m *member) bool { return !m.ended && !m.finished }) {
		select {
		case e := <-r.events:
			if err := r.apply(ctx, e); err != nil {
				return err
			}
		case err := <-r.o.Failed:
			return err
		case <-ctx.Done():
			r.partial = true
			return nil
		case <-tick.C:
			if r.o.Progress != nil {
				r.o.Progress(r.progress(time.Since(began)))
			}
		}
	}
	return nil
}

// apply applies an event of the replay. An error ends it: no driver of this version
// answers so.
func (r *run) apply(ctx context.Context, e event) (err error) {
	m := e.driver
	switch {
	case e.ended:
		r.remove(m)
		if m.left > 0 {
			r.partial = true
			if r.o.Died != nil {
				r.o.Died(m.died(ctx, m.Err(), fmt.Sprintf("with %d of its %d jobs unfinished; the other drivers continue", m.left, len(m.jobs))))
			}
		}
	case e.answer.Record != nil:
		err = r.outcome.add(m, e.answer.Record)
		m.left--
	case e.answer.Seconds != nil && m.left == 0:
		m.finished = true
	default:
		err = errors.New("it answered without a command")
	}
	if err != nil {
		return fmt.Errorf("%s on %s: %w; the replay was ended; the plugin's jar is of another version than this program", m, m.place.Place, err)
	}
	return nil
}

func (r *run) remove(m *member) {
	m.ended = true
	r.alive--
}

func (r *run) progress(elapsed time.Duration) replay.Progress {
	p := replay.Progress{Jobs: len(r.work.Jobs), Ended: r.outcome.ended, Elapsed: elapsed}
	first := r.work.Jobs[0].Arrival
	for p.Submitted < p.Jobs && r.work.Jobs[p.Submitted].Arrival-first <= elapsed.Nanoseconds() {
		p.Submitted++
	}
	p.Left = max(0, time.Duration(r.work.Jobs[p.Jobs-1].Arrival-first)-elapsed)
	return p
}

// endAll ends the drivers that still run and returns when they have ended.
func (r *run) endAll() {
	for _, m := range r.drivers {
		m.CloseInput()
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	for r.alive > 0 {
		select {
		case e := <-r.events:
			if e.ended {
				r.remove(e.driver)
			}
		case <-patience.C:
			for _, m := range r.drivers {
				if !m.ended {
					m.Kill()
				}
			}
		}
	}
}

// died returns the error of a driver that ended, or is ended, early.
func (m *member) died(ctx context.Context, err error, doing string) error {
	how := "ended"
	if ctx.Err() != nil {
		how = "was ended"
	} else if err != nil {
		how = fmt.Sprintf("ended (%v)", err)
	}
	text := fmt.Sprintf("%s on %s %s %s; %s", m, m.place.Place, how, doing, m.LogEnd())
	return errors.New(text)
}
