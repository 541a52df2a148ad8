package viaspark

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/workload"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// MaxDrivers bounds the drivers of one replay, each of which is a JVM.
const MaxDrivers = 256

// Options say how to replay.
type Options struct {
	// Drivers is how many Spark applications share the workload.
	Drivers int
	// Programs start them: driver k is started by number k mod their count.
	Programs []Program
	// Master is Spark's, for a driver.
	Master func(driver int) string
	// Jar of Pigeon's plugin, given by --jars; "" where the program adds it.
	Jar string
	// Executors that a driver waits for before it is ready, and warms up.
	Executors int
	// Within bounds how long a driver waits for them; default two minutes.
	Within time.Duration
	// Settings of Spark, KEY=VALUE.
	Settings []string

	// Progress, if set, is called a few times a second from the start of the clock.
	Progress func(replay.Progress)
	// Waiting, if set, is called when more drivers have become ready.
	Waiting func(ready, drivers int)
	// Died, if set, is told of a driver that died after the start.
	Died func(error)
	// Failed, if set, ends the replay with the error it gives.
	Failed <-chan error
}

// Check refuses what cannot work; nothing has been started then.
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
	// startAllowance is what a driver may take beyond Options.Within to start.
	startAllowance = 2 * time.Minute
	// grace is what a driver has to end when it is asked to.
	grace = 15 * time.Second
)

// run is a replay under way. One goroutine, that of Run, has all of it.
type run struct {
	o       *Options
	work    *workload.Workload
	drivers []*driver
	heard   chan heard
	ready   int
	alive   int
	book    *book
	partial bool
}

// Run replays the workload, in its own time. When ctx ends before the workload does,
// or a driver dies, the outcome is partial and not an error. It returns when all
// drivers are gone.
func Run(ctx context.Context, w *workload.Workload, o Options) (*replay.Measured, error) {
	if err := o.Check(len(w.Jobs)); err != nil {
		return nil, err
	}
	if o.Within == 0 {
		o.Within = 2 * time.Minute
	}
	r := &run{o: &o, work: w, heard: make(chan heard), book: newBook(w)}
	var all sync.WaitGroup
	defer all.Wait()
	if err := r.start(&all); err != nil {
		r.endAll()
		return nil, err
	}
	if err := r.awaitReady(ctx); err != nil {
		r.endAll()
		return nil, err
	}
	began := time.Now()
	for _, d := range r.drivers {
		d.release()
	}
	if err := r.replay(ctx, began); err != nil {
		r.endAll()
		return nil, err
	}
	wall := time.Since(began)
	r.endAll()
	return r.book.measured(began, wall, r.partial), nil
}

// start deals the jobs and starts the drivers.
func (r *run) start(all *sync.WaitGroup) error {
	for k := range r.o.Drivers {
		d := &driver{number: k}
		for i := k; i < len(r.work.Jobs); i += r.o.Drivers {
			d.jobs = append(d.jobs, i)
		}
		d.left = len(d.jobs)
		p, argv := r.o.command(k)
		if err := d.start(p, argv); err != nil {
			return &api.Error{Problem: api.Internal, What: fmt.Sprintf("driver %d cannot be started: %v", k, err), Subject: p.Place, Tried: "starting " + argv[0], Next: "see whether that program runs by itself"}
		}
		r.drivers = append(r.drivers, d)
		r.alive++
		all.Go(func() {
			d.follow(func(in io.Writer) error {
				return writeJobs(in, r.work, d.jobs, r.work.Jobs[0].Arrival)
			}, func(h heard) { r.heard <- h })
		})
	}
	return nil
}

// awaitReady waits until every driver is.
func (r *run) awaitReady(ctx context.Context) error {
	patience := r.o.Within + startAllowance
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for r.ready < len(r.drivers) {
		select {
		case h := <-r.heard:
			switch {
			case h.said == nil:
				r.gone(h)
				return fmt.Errorf("no job was submitted: %w", h.driver.died(ctx, h.err, "before it was ready"))
			case h.said.Ready != nil && !h.driver.ready:
				h.driver.ready = true
				r.ready++
				if r.o.Waiting != nil {
					r.o.Waiting(r.ready, len(r.drivers))
				}
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

// unready tells of a driver that did not become ready.
func (r *run) unready(ctx context.Context, patience time.Duration) error {
	for _, d := range r.drivers {
		if !d.ready {
			return fmt.Errorf("no job was submitted: %d of %d drivers were ready within %v: %w", r.ready, len(r.drivers), patience, d.died(ctx, nil, "since it was not ready"))
		}
	}
	return nil
}

// replay follows the drivers until all have told of all their jobs or are gone, or
// ctx ends.
func (r *run) replay(ctx context.Context, began time.Time) error {
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	for r.unfinished() {
		select {
		case h := <-r.heard:
			if err := r.hear(ctx, h); err != nil {
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

func (r *run) unfinished() bool {
	for _, d := range r.drivers {
		if !d.ended && d.left > 0 {
			return true
		}
	}
	return false
}

// hear books what a driver said. What no driver of ours can say ends the replay.
func (r *run) hear(ctx context.Context, h heard) error {
	d := h.driver
	switch {
	case h.said == nil:
		r.gone(h)
		if d.left > 0 {
			r.partial = true
			if r.o.Died != nil {
				r.o.Died(d.died(ctx, h.err, fmt.Sprintf("with %d of its %d jobs unfinished; the other drivers go on", d.left, len(d.jobs))))
			}
		}
	case h.said.Ready == nil:
		if err := r.book.enter(d, h.said); err != nil {
			return fmt.Errorf("driver %d on %s: %w; the replay was ended; the plugin's jar is of another version than this program", d.number, d.place, err)
		}
		d.left--
	}
	return nil
}

func (r *run) gone(h heard) {
	h.driver.ended = true
	r.alive--
}

func (r *run) progress(elapsed time.Duration) replay.Progress {
	p := replay.Progress{Jobs: len(r.work.Jobs), Ended: r.book.ended, Elapsed: elapsed}
	first := r.work.Jobs[0].Arrival
	for p.Submitted < p.Jobs && r.work.Jobs[p.Submitted].Arrival-first <= elapsed.Nanoseconds() {
		p.Submitted++
	}
	p.Left = max(0, time.Duration(r.work.Jobs[p.Jobs-1].Arrival-first)-elapsed)
	return p
}

// endAll ends what is left of the drivers and returns when they are gone.
func (r *run) endAll() {
	for _, d := range r.drivers {
		d.end()
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	for r.alive > 0 {
		select {
		case h := <-r.heard:
			if h.said == nil {
				r.gone(h)
			}
		case <-patience.C:
			for _, d := range r.drivers {
				if !d.ended {
					d.kill()
				}
			}
		}
	}
}
