package fairness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Slots is how many slots the cluster of a measurement has: one group of two nodes.
const Slots = 8

// place is a cluster in this process that is measured once.
type place struct {
	cluster   *cluster.Cluster
	scheduler *wire.SchedulerClient
	pool      *client.Pool
	dir       string // of the file of owners
}

// open starts a cluster under a policy whose masters have the shares of a file of owners,
// given as its text.
func open(ctx context.Context, policy, owners string) (_ *place, err error) {
	p := &place{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.dir, err = os.MkdirTemp("", "pigeon-fairness-"); err != nil {
		return nil, err
	}
	file := filepath.Join(p.dir, "owners.yaml")
	if err := os.WriteFile(file, []byte(owners), 0o600); err != nil {
		return nil, err
	}
	if p.cluster, err = cluster.Start(ctx, cluster.Spec{Groups: []int{2}, Slots: Slots / 2, Policy: policy, OwnersFile: file, History: true}); err != nil {
		return nil, err
	}
	if p.pool, err = client.New(client.Options{Name: "frontend", Address: p.cluster.Frontends()[0]}); err != nil {
		return nil, err
	}
	p.scheduler = wire.NewSchedulerClient(p.pool)
	return p, nil
}

// submit submits a job of sleeping tasks. Its key is the owner and a number, so that a
// history shows whose task each event is of.
func (p *place) submit(ctx context.Context, l *Load, key string) error {
	r := &api.Request{Backend: api.BackendSleep, Owner: l.Owner, Key: l.Owner + " " + key, Class: "short", Estimate: l.Duration, EstimateSet: true, Tasks: make([]api.Task, l.Tasks)}
	for i := range r.Tasks {
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendSleep, Sleep: l.Duration}
	}
	_, _, err := p.scheduler.Submit(ctx, r)
	return err
}

// completed waits until the given number of the jobs' tasks have ended.
func (p *place) completed(ctx context.Context, tasks int, keys ...string) error {
	const every = 20 * time.Millisecond
	for {
		n := 0
		for _, key := range keys {
			s, err := p.scheduler.Status(ctx, key)
			if err != nil {
				return err
			}
			n += s.Completed
		}
		if n >= tasks {
			return nil
		}
		if !delay.For(ctx, every) {
			return context.Cause(ctx)
		}
	}
}

// attempt is one task that ran.
type attempt struct {
	owner      string
	start, end int64 // ns
}

// finish ends the cluster and returns the tasks that ran to their end, in order of start.
func (p *place) finish() (list []attempt, err error) {
	err = p.cluster.Finish(func() error {
		events, err := replay.ReadHistories(p.cluster.Histories(), time.Now())
		if err != nil {
			return err
		}
		type task struct {
			job  string
			task int
		}
		running := map[task]int{}
		for i := range events {
			e := &events[i]
			switch at := (task{e.Job, e.Task}); e.Event {
			case measure.Started:
				running[at] = len(list)
				owner, _, _ := strings.Cut(e.Job, " ")
				list = append(list, attempt{owner: owner, start: e.Time, end: -1})
			case measure.Reported:
				if k, ok := running[at]; ok {
					list[k].end = e.Time
				}
			}
		}
		return nil
	})
	return list, errors.Join(err, p.close())
}

// close ends what is left of the place. It is safe to call twice.
func (p *place) close() (err error) {
	if p.pool != nil {
		err = p.pool.Close()
	}
	if p.cluster != nil {
		err = errors.Join(err, p.cluster.Close())
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
