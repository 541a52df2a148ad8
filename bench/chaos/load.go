package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// retries is how often a task may fail by itself: its process is killed from time to time.
const retries = 20

// Clients submit jobs and wait for them.
type Clients struct {
	frontends []*wire.SchedulerClient
	names     int // of frontends; the standbys follow
	pools     []*client.Pool
	program   []string // of a task, to which its folder and duration are added
	running   sync.WaitGroup

	mu   sync.Mutex
	jobs []history.Job
}

// NewClients returns clients of frontends; those after the first names are standbys: number
// names+i is that of i. program is that of tasks; its folder is among its arguments.
func NewClients(addresses []string, names int, program []string) (*Clients, error) {
	c := &Clients{program: program, names: names}
	for _, at := range addresses {
		pool, err := client.New(client.Options{Name: "frontend", Address: at, MaxConns: 512, CallTimeout: 5 * time.Second, BackoffMax: 100 * time.Millisecond})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.pools, c.frontends = append(c.pools, pool), append(c.frontends, wire.NewSchedulerClient(pool))
	}
	return c, nil
}

// Close closes the connections, when all jobs have ended or were given up.
func (c *Clients) Close() {
	c.running.Wait()
	for _, p := range c.pools {
		_ = p.Close() // it only closes connections
	}
}

// places returns the clients of a frontend's name: of the first process of that name, and of
// its standby.
func (c *Clients) places(name int) (list []*wire.SchedulerClient) {
	for i := name; i < len(c.frontends); i += c.names {
		list = append(list, c.frontends[i])
	}
	return list
}

// submitWithin is how long a submission may take at one place.
const submitWithin = 5 * time.Second

// submitAll submits jobs at random times until load ends. Jobs are waited for until ctx
// ends.
func (c *Clients) submitAll(ctx, load context.Context, o *Options) {
	draw := rand.New(rand.NewPCG(o.Seed, 0x10ad)) //nolint:gosec // it is to be repeated
	for at, n := Now(), 0; ; n++ {
		at += int64(draw.ExpFloat64() / o.Jobs * 1e9)
		j, request := c.draw(draw, n)
		var cancelAfter time.Duration
		if draw.IntN(20) == 0 {
			cancelAfter = time.Duration(draw.Float64() * 1e9)
		}
		if !sleepUntil(load, at) {
			return
		}
		c.submitJob(ctx, j, request, cancelAfter)
	}
}

// submitJob submits a job and follows it until it or ctx ends.
func (c *Clients) submitJob(ctx context.Context, j history.Job, request *api.Request, cancelAfter time.Duration) {
	c.mu.Lock()
	n := len(c.jobs)
	c.jobs = append(c.jobs, j)
	c.mu.Unlock()
	c.running.Go(func() { c.follow(ctx, n, request, cancelAfter) })
}

// SubmitEvery submits a job of the short class and of one task at every interval until ctx ends, and
// follows each until then. It returns at once.
func (c *Clients) SubmitEvery(ctx context.Context, interval, lasts time.Duration) {
	c.running.Go(func() {
		for n := 0; delay.For(ctx, interval); n++ {
			key := fmt.Sprintf("short-%d", n)
			c.submitJob(ctx, history.Job{Key: key, Tasks: 1, Writes: true}, c.Request(key, "short", []time.Duration{lasts}), 0)
		}
	})
}

// Frontend returns the client of one of the addresses.
func (c *Clients) Frontend(i int) *wire.SchedulerClient { return c.frontends[i] }

// Request returns a job of exec tasks that write their history.
func (c *Clients) Request(key, class string, lasts []time.Duration) *api.Request {
	r := &api.Request{Key: key, Class: class, Retries: retries, Backend: api.BackendExec, Tasks: make([]api.Task, len(lasts))}
	for i := range r.Tasks {
		argv := append(slices.Clone(c.program), lasts[i].String())
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: argv, Env: exitAtOnce()}}
	}
	return r
}

// draw makes job n.
func (c *Clients) draw(draw *rand.Rand, n int) (history.Job, *api.Request) {
	long, writes := draw.IntN(10) == 0, draw.IntN(10) > 0
	j := history.Job{Key: fmt.Sprintf("short-%d", n), Frontend: n % c.names, Tasks: 1 + draw.IntN(6), Long: long, Writes: writes}
	class, least, most := "short", 0.05, 0.6
	if long {
		j.Key, j.Tasks, class, least, most = history.LongJob+strconv.Itoa(n), 1+draw.IntN(2), "long", 1.5, 4
	}
	lasts := make([]time.Duration, j.Tasks)
	for i := range lasts {
		lasts[i] = time.Duration((least + draw.Float64()*(most-least)) * 1e9)
	}
	request := c.Request(j.Key, class, lasts)
	if !writes {
		request.Backend, request.Retries = api.BackendSleep, 0
		for i := range request.Tasks {
			request.Tasks[i].Payload = api.Payload{Backend: api.BackendSleep, Sleep: lasts[i]}
		}
	}
	return j, request
}

// change changes the record of a job.
func (c *Clients) change(n int, set func(*history.Job)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set(&c.jobs[n])
}

// follow submits a job until it is accepted, cancels it where that was drawn, and waits for
// its end. It submits a job again that its frontend does not know any more.
func (c *Clients) follow(ctx context.Context, n int, request *api.Request, cancelAfter time.Duration) {
	places := c.places(n % c.names)
	c.change(n, func(j *history.Job) { j.Submitted = Now() })
	for known := false; !known && ctx.Err() == nil; cancelAfter = 0 {
		if !c.submit(ctx, n, places, request) {
			return
		}
		if cancelAfter > 0 {
			c.cancel(ctx, n, places, request.Key, cancelAfter)
		}
		known = c.wait(ctx, n, places, request.Key)
	}
}

// submit submits a job until it is accepted. It reports false where it never will be.
func (c *Clients) submit(ctx context.Context, n int, places []*wire.SchedulerClient, request *api.Request) (accepted bool) {
	for at := 0; ; at++ {
		c.change(n, func(j *history.Job) { j.Called = Now() })
		call, stop := context.WithTimeout(ctx, submitWithin)
		_, _, err := places[at%len(places)].Submit(call, request)
		stop()
		if err == nil {
			c.change(n, func(j *history.Job) { j.Accepted = Now() })
			return true
		}
		c.change(n, func(j *history.Job) { j.Reason = err.Error() })
		var refusal *api.Error
		if errors.As(err, &refusal) && refusal.Problem == api.Invalid || !delay.For(ctx, 50*time.Millisecond) {
			return false
		}
	}
}

// wait waits for the end of an accepted job. It reports false where the frontend does not know the
// job any more.
func (c *Clients) wait(ctx context.Context, n int, places []*wire.SchedulerClient, key string) (known bool) {
	for at := 0; ctx.Err() == nil; {
		call, stop := context.WithTimeout(ctx, 4*time.Second)
		s, err := places[at%len(places)].Wait(call, key, 2*time.Second)
		stop()
		switch {
		case err == nil && s.State.Ended():
			c.change(n, func(j *history.Job) {
				j.Ended, j.State, j.Completed, j.Reason = Now(), string(s.State), s.Completed, s.Reason
			})
			return true
		case unknown(err) && len(places) == 1:
			c.change(n, func(j *history.Job) {
				j.Forgotten = append(j.Forgotten, history.Forgotten{Accepted: j.Accepted, Noticed: Now()})
				j.Accepted, j.Cancelled = 0, 0
			})
			return false
		case err != nil:
			at++
			delay.For(ctx, 50*time.Millisecond)
		}
	}
	return true
}

// unknown reports whether an error is that a frontend does not know a job.
func unknown(err error) bool {
	refusal, ok := errors.AsType[*api.Error](err)
	return ok && refusal.Problem == api.NotFound
}

// cancel cancels a job; its end shows whether that came in time.
func (c *Clients) cancel(ctx context.Context, n int, places []*wire.SchedulerClient, key string, after time.Duration) {
	for at := 0; delay.For(ctx, after); at++ {
		s, err := places[at%len(places)].Cancel(ctx, key)
		if err == nil && s.State == api.StateCancelled {
			c.change(n, func(j *history.Job) { j.Cancelled = Now() })
		}
		if err == nil || unknown(err) && len(places) == 1 {
			return
		}
		after = 50 * time.Millisecond
	}
}

// all returns the jobs, and asks frontends about those that did not end.
func (c *Clients) all(ctx context.Context) []history.Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.jobs {
		j := &c.jobs[i]
		if j.Accepted == 0 || j.Ended != 0 {
			continue
		}
		call, stop := context.WithTimeout(ctx, 3*time.Second)
		why, err := c.frontends[j.Frontend].Explain(call, j.Key)
		for _, standby := range c.places(j.Frontend)[1:] {
			if err != nil {
				why, err = standby.Explain(call, j.Key)
			}
		}
		stop()
		if err != nil {
			j.Why = append(j.Why, err.Error())
			continue
		}
		j.State, j.Why = string(why.Status.State), why.Why
		for _, t := range why.Tasks {
			j.Why = append(j.Why, fmt.Sprintf("task %d %s, attempt %d on %q %s", t.Task, t.State, t.Attempt, t.Node, t.Reason))
		}
		for _, g := range why.Groups {
			j.Why = append(j.Why, fmt.Sprintf("%+v", g))
		}
	}
	return c.jobs
}

// unended returns how many jobs have not ended, those that are still submitted among them.
func (c *Clients) unended() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		if j.Ended == 0 {
			n++
		}
	}
	return n
}

// serving waits until a frontend answers, and returns how long that took.
func serving(address string, from int64) (time.Duration, bool) {
	pool, err := client.New(client.Options{Name: "frontend", Address: address, CallTimeout: time.Second, DialTimeout: time.Second, BackoffMax: 10 * time.Millisecond})
	if err != nil {
		return 0, false
	}
	defer pool.Close() //nolint:errcheck // as above
	f := wire.NewSchedulerClient(pool)
	for Now()-from < (15 * time.Second).Nanoseconds() {
		call, stop := context.WithTimeout(context.Background(), time.Second)
		err := f.Ping(call)
		stop()
		if err == nil {
			return time.Duration(Now() - from), true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, false
}

// exitAtOnce returns additions to a task's environment: a program that was built with -race would
// otherwise sleep for a second between its last line and its exit, and be killed there when its
// node is stopped.
func exitAtOnce() []string { return []string{"GORACE=atexit_sleep_ms=0"} }
