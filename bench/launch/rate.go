package launch

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"golang.org/x/sync/errgroup"
)

// RateOptions describe the tasks that are launched.
type RateOptions struct {
	Tasks    int
	Duration time.Duration // of each
	Backend  api.Backend   // sleep or exec
	Workers  int           // slots of the cluster
	// JobTasks is the size of a job, InFlight the jobs that are submitted and
	// have not ended; the paper's comparison fixes neither.
	JobTasks, InFlight int
	Security           client.Security // of calls to the frontends
	Progress           func(done int)
}

// RateResult is what "pigeon-bench launch" prints; times in seconds.
type RateResult struct {
	Bench           string         `json:"bench"`               // launch
	Backend         string         `json:"backend"`             // sleep or exec
	Workers         int            `json:"workers"`             // slots of the cluster
	Tasks           int            `json:"tasks"`               // in all
	Duration        measure.Number `json:"duration"`            // of each task
	JobTasks        int            `json:"job_tasks"`           // tasks of a job
	InFlight        int            `json:"in_flight"`           // jobs submitted and not ended, at the most
	Total           measure.Number `json:"total"`               // from the first submission to the last reported end
	Rate            measure.Number `json:"rate"`                // tasks a second
	OverheadPerTask measure.Number `json:"overhead_per_task"`   // (total - ideal) / (tasks / slots), where the ideal is tasks x duration / slots
	Utilization     measure.Number `json:"utilization"`         // ideal / total
	CPUPerTask      measure.Number `json:"cpu_per_task"`        // processor time of the daemons
	RSSMax          int64          `json:"rss_max"`             // peak resident memory of the daemons, in bytes
	Shared          bool           `json:"client_included"`     // whether cpu_per_task and rss_max include this client
	GeneratorCPU    measure.Number `json:"client_cpu_per_task"` // processor time of this client, where it is not included
	Failed          int            `json:"failed"`              // tasks that failed
}

// Rate runs equal tasks through the frontends and measures the whole. usage returns
// what the daemons used so far; nil when that is not known.
func Rate(ctx context.Context, frontends []string, o RateOptions, usage func() (cluster.Usage, error)) (*RateResult, error) {
	g := &generator{options: o, base: strconv.FormatInt(time.Now().UnixNano(), 36)}
	var pools []*client.Pool
	defer func() {
		for _, p := range pools {
			_ = p.Close() // it only closes connections
		}
	}()
	for _, address := range frontends {
		pool, err := client.New(client.Options{Name: "frontend", Address: address, MaxConns: submitters + watchers, CallTimeout: time.Minute, DialTimeout: dialTimeout, Security: o.Security})
		if err != nil {
			return nil, err
		}
		pools = append(pools, pool)
		g.frontends = append(g.frontends, target{
			SchedulerClient: wire.NewSchedulerClient(pool), submits: make(chan struct{}, submitters), waits: make(chan struct{}, watchers),
		})
	}
	for i, f := range g.frontends {
		if err := f.Ping(ctx); err != nil {
			return nil, fmt.Errorf("the frontend %s does not answer: %w; nothing was submitted", frontends[i], err)
		}
	}
	if usage == nil {
		usage = func() (cluster.Usage, error) { return cluster.Usage{}, nil }
	}
	before, err := usage()
	if err != nil {
		return nil, err
	}
	own, err := cluster.OwnUsage()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	total := time.Since(began)
	after, err := usage()
	if err != nil {
		return nil, err
	}
	ownAfter, err := cluster.OwnUsage()
	if err != nil {
		return nil, err
	}
	return o.result(total, after.Since(before), ownAfter.Since(own), int(g.failed.Load())), nil
}

func (o *RateOptions) result(total time.Duration, daemons, own cluster.Usage, failed int) *RateResult {
	tasks, slots := float64(o.Tasks), float64(o.Workers)
	ideal := o.Duration.Seconds() * tasks / slots
	r := &RateResult{
		Bench: "launch", Backend: string(o.Backend), Workers: o.Workers, Tasks: o.Tasks, Duration: measure.Number(o.Duration.Seconds()),
		JobTasks: o.JobTasks, InFlight: o.InFlight, Total: measure.Number(total.Seconds()), Rate: measure.Number(tasks / total.Seconds()),
		OverheadPerTask: measure.Number((total.Seconds() - ideal) * slots / tasks), Utilization: measure.Number(ideal / total.Seconds()),
		CPUPerTask: measure.Number(daemons.CPU.Seconds() / tasks), RSSMax: daemons.RSSMax, Shared: daemons.Shared,
		GeneratorCPU: measure.Missing(), Failed: failed,
	}
	if daemons == (cluster.Usage{}) {
		r.CPUPerTask = measure.Missing()
	}
	if !daemons.Shared {
		r.GeneratorCPU = measure.Number(own.CPU.Seconds() / tasks)
	}
	return r
}

// Calls at a time to one frontend. Jobs in flight beyond the watchers are waited for
// later; they end in about the order in which they were submitted.
const (
	submitters = 64
	watchers   = 128
	// dialTimeout is long: a daemon of a machine that is measured under full load accepts late.
	dialTimeout = 10 * time.Second
)

// target is one frontend.
type target struct {
	*wire.SchedulerClient
	submits, waits chan struct{} // an element for every call in progress
}

// generator keeps a number of jobs in flight.
type generator struct {
	options   RateOptions
	base      string // of keys, so that each run has its own
	frontends []target
	done      atomic.Int64 // tasks
	failed    atomic.Int64
}

func (g *generator) run(ctx context.Context) error {
	jobs, running := errgroup.WithContext(ctx)
	jobs.SetLimit(g.options.InFlight)
	for k, first := 0, 0; first < g.options.Tasks && running.Err() == nil; k, first = k+1, first+g.options.JobTasks {
		jobs.Go(func() error { return g.job(running, k, min(g.options.JobTasks, g.options.Tasks-first)) })
	}
	if err := jobs.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// job runs a job to its end.
func (g *generator) job(ctx context.Context, number, size int) error {
	tasks := make([]api.Task, size)
	for i := range tasks {
		tasks[i].Payload = payload(g.options.Backend, g.options.Duration)
	}
	q := &api.Request{Key: g.base + "-" + strconv.Itoa(number), Backend: g.options.Backend, Class: "short", Tasks: tasks}
	if err := g.frontends[number%len(g.frontends)].toItsEnd(ctx, q, &g.failed); err != nil {
		return fmt.Errorf("job %d of %d tasks: %w; the measurement was ended", number, size, err)
	}
	if done := g.done.Add(int64(size)); g.options.Progress != nil {
		g.options.Progress(int(done))
	}
	return nil
}

// toItsEnd submits a job and waits for its end.
func (t *target) toItsEnd(ctx context.Context, q *api.Request, failed *atomic.Int64) error {
	t.submits <- struct{}{}
	id, _, err := t.Submit(ctx, q)
	<-t.submits
	if err != nil {
		return err
	}
	t.waits <- struct{}{}
	defer func() { <-t.waits }()
	for {
		s, err := t.Wait(ctx, id, 30*time.Second)
		if err != nil {
			return err
		}
		if s.State.Ended() {
			failed.Add(int64(s.Failed))
			return nil
		}
	}
}

// payload returns a task of that duration; for the backend exec a program that sleeps, or only ends.
func payload(b api.Backend, d time.Duration) api.Payload {
	if b == api.BackendSleep {
		return api.Payload{Backend: api.BackendSleep, Sleep: d}
	}
	argv := []string{"true"}
	if d > 0 {
		argv = []string{"sleep", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}
	}
	return api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: argv}}
}
