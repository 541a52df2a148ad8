package reuther

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
	"golang.org/x/sync/errgroup"
)

// jobTasks is the size of the jobs in which the programs of a set are submitted, and submitted how
// many of them are submitted and have not ended; the rest wait at this client. As many connections
// enqueue the programs of asynq and River. All jobs of a set at once would delay its first program
// (from 23 to 25 ms to 36 to 42 ms), because the daemons read and journal the others meanwhile.
const (
	jobTasks  = 200
	submitted = 4
)

// pigeon is a separate cluster: one frontend with its journal on the disk, one group, and one node
// that has all slots. A task has its own working folder.
type pigeon struct {
	name, about string
	spec        cluster.Spec // without its size

	cluster  *cluster.Cluster
	pool     *client.Pool
	frontend *wire.SchedulerClient
	sets     int
}

// newPigeon returns Pigeon as on a cluster's machines: each daemon is a process, and notices travel
// by a NATS server.
func newPigeon() *pigeon {
	return &pigeon{
		name:  "pigeon",
		about: "exec tasks; frontend (journal with fsync), master, node and NATS server, a process for each; jobs of " + strconv.Itoa(jobTasks) + " tasks, " + strconv.Itoa(submitted) + " at a time; outputs kept, and a working folder for each task",
		spec:  cluster.Spec{Isolation: cluster.Process},
	}
}

// newPigeonDev returns Pigeon as it is recommended for one machine (docs/operations.md). The daemons
// are in the process that submits, as are the workers of the queues.
func newPigeonDev() *pigeon {
	return &pigeon{
		name:  "pigeon-dev",
		about: "pigeon as `pigeon dev --nats=false`: all daemons are in the process that submits, as the workers of asynq and River are, and notices travel by Thrift; journal with fsync, outputs kept, and a working folder for each task",
		spec:  cluster.Spec{Isolation: cluster.Goroutine, WithoutNATS: true, StartGuard: true},
	}
}

// Name implements Peer.
func (p *pigeon) Name() string { return p.name }

// Describe implements Peer.
func (p *pigeon) Describe(context.Context) (Description, error) {
	return Description{About: p.about}, nil
}

func (p *pigeon) Start(ctx context.Context, slots int) error {
	spec := p.spec
	spec.Groups, spec.Slots = []int{1}, slots
	c, err := product.Start(ctx, spec)
	if err != nil {
		return err
	}
	p.cluster = c
	pool, err := client.New(client.Options{Name: "frontend", Address: c.Frontends()[0], MaxConns: 2 * submitted, CallTimeout: time.Minute})
	if err != nil {
		return errors.Join(err, c.Close())
	}
	p.pool, p.frontend = pool, wire.NewSchedulerClient(pool)
	return nil
}

func (p *pigeon) Stop() error {
	if p.cluster == nil {
		return nil
	}
	return errors.Join(p.pool.Close(), p.cluster.Close())
}

func (p *pigeon) Run(ctx context.Context, programs [][]string) error {
	p.sets++
	jobs, running := errgroup.WithContext(ctx)
	jobs.SetLimit(submitted)
	for first := 0; first < len(programs) && running.Err() == nil; first += jobTasks {
		part := programs[first:min(first+jobTasks, len(programs))]
		key := fmt.Sprintf("set-%d-%d", p.sets, first)
		jobs.Go(func() error { return p.job(running, key, part) })
	}
	return errors.Join(jobs.Wait(), context.Cause(ctx))
}

// job runs a job to its end.
func (p *pigeon) job(ctx context.Context, key string, programs [][]string) error {
	q := &api.Request{Key: key, Backend: api.BackendExec, Class: "short", Tasks: make([]api.Task, len(programs))}
	for i, program := range programs {
		q.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: program}}
	}
	id, _, err := p.frontend.Submit(ctx, q)
	if err != nil {
		return err
	}
	for {
		s, err := p.frontend.Wait(ctx, id, 30*time.Second)
		switch {
		case err != nil:
			return err
		case s.State.Ended() && s.Failed > 0:
			return fmt.Errorf("%d of %d tasks of job %s failed", s.Failed, len(programs), id)
		case s.State.Ended():
			return nil
		}
	}
}
