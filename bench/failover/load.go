package failover

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// load is clients that submit jobs and wait for them, at a frontend or its standby,
// whichever answers.
type load struct {
	c       *cluster.Cluster
	program []string // of a task, to which its duration is added
	names   int      // of frontends; the standby of i is number names+i
	at      []*wire.SchedulerClient
	pools   []*client.Pool
	prefix  string
	running sync.WaitGroup

	mu   sync.Mutex
	next int
	jobs []jobOutcome
}

// taskRetries lets a task survive that its process is killed.
const taskRetries = 3

// jobOutcome is what the client of a job has seen.
type jobOutcome struct {
	class            string
	submitted, ended int64 // of the clock of all processes
	state            api.State
}

func newLoad(c *cluster.Cluster, names int, program []string) (*load, error) {
	l := &load{c: c, program: program, names: names, prefix: strconv.FormatInt(time.Now().UnixNano(), 36)}
	for _, at := range c.Frontends() {
		pool, err := client.New(client.Options{Name: "frontend", Address: at, MaxConns: 512, CallTimeout: 3 * time.Second, DialTimeout: time.Second, BackoffMax: 20 * time.Millisecond})
		if err != nil {
			l.close()
			return nil, err
		}
		l.pools, l.at = append(l.pools, pool), append(l.at, wire.NewSchedulerClient(pool))
	}
	return l, nil
}

func (l *load) close() {
	for _, p := range l.pools {
		_ = p.Close() // it only closes connections
	}
}

// places returns the clients of a name: of its frontend and of its standby.
func (l *load) places(name int) []*wire.SchedulerClient {
	if len(l.at) > l.names {
		return []*wire.SchedulerClient{l.at[name], l.at[l.names+name]}
	}
	return l.at[name : name+1]
}

// submit submits a job of equal tasks and follows it to its end.
func (l *load) submit(ctx context.Context, class string, tasks int, lasts time.Duration) {
	l.mu.Lock()
	n := l.next
	l.next++
	l.jobs = append(l.jobs, jobOutcome{class: class, submitted: chaos.Now()})
	l.mu.Unlock()
	l.running.Go(func() {
		state := l.follow(ctx, n%l.names, l.request(fmt.Sprintf("%s-%s-%d", l.prefix, class, n), class, tasks, lasts))
		l.mu.Lock()
		defer l.mu.Unlock()
		l.jobs[n].ended, l.jobs[n].state = chaos.Now(), state
	})
}

func (l *load) request(key, class string, tasks int, lasts time.Duration) *api.Request {
	r := &api.Request{Key: key, Class: class, Backend: api.BackendExec, Retries: taskRetries, Tasks: make([]api.Task, tasks)}
	for i := range r.Tasks {
		argv := append(append([]string(nil), l.program...), lasts.String())
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: argv}}
	}
	return r
}

// follow submits a job until it is accepted, and waits for its end; "" when ctx ended first.
// A request that a place does not answer goes to the next one, under the same key.
func (l *load) follow(ctx context.Context, name int, request *api.Request) api.State {
	places := l.places(name)
	for accepted, k := false, 0; ctx.Err() == nil; {
		at := places[k%len(places)]
		call, stop := context.WithTimeout(ctx, 3*time.Second)
		var err error
		var s api.Status
		if !accepted {
			_, _, err = at.Submit(call, request)
			accepted = err == nil
		} else {
			s, err = at.Wait(call, request.Key, 2*time.Second)
		}
		stop()
		switch {
		case err == nil && s.State.Ended():
			return s.State
		case err != nil:
			k++
			delay.For(ctx, 20*time.Millisecond)
		}
	}
	return ""
}

// every submits a job each interval until ctx ends.
func (l *load) every(ctx context.Context, interval time.Duration, one func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			one()
		case <-ctx.Done():
			return
		}
	}
}

// ended returns the jobs that were submitted in a time.
func (l *load) between(from, to int64) (list []jobOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.jobs {
		if j.submitted >= from && j.submitted < to {
			list = append(list, j)
		}
	}
	return list
}
