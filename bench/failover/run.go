package failover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/bench/product"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

const (
	nodes       = 2
	slots       = 4
	jobEvery    = 30 * time.Millisecond
	taskLasts   = 10 * time.Millisecond
	hangs       = 6 * time.Second // a paused or cut-off leader
	downFor     = 3 * time.Second // a killed daemon
	watchFor    = 2 * time.Second // after its return
	settleFor   = 2 * time.Second // before the next one
	beginWithin = time.Second     // a pause that a failure causes begins so soon
)

// Run measures each kind on its own cluster.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &Result{Bench: "failover", Runs: o.Runs, Load: Load{Before: measure.LoadAverage()}}
	list, leftOut := o.wanted()
	r.LeftOut = leftOut
	for _, k := range list {
		pauses, err := o.measure(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; the logs are in %s", k.name, err, filepath.Join(o.Dir, k.name))
		}
		r.Kinds = append(r.Kinds, newMeasure(k, pauses))
	}
	r.Load.After = measure.LoadAverage()
	return r, nil
}

// world is the cluster of a kind under load.
type world struct {
	o     *Options
	c     *cluster.Cluster
	net   *network.Network // nil: loopback
	tasks string           // folder of what tasks write
	load  *chaos.Clients
	lost  int // frontends so far, for the keys of their jobs
}

func (o *Options) measure(ctx context.Context, k kind) (pauses []time.Duration, err error) {
	w := &world{o: o, tasks: filepath.Join(o.Dir, k.name, "tasks")}
	if err := os.MkdirAll(w.tasks, 0o755); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec := cluster.Spec{
		Groups: []int{nodes}, Slots: slots, Isolation: cluster.Process, Dir: filepath.Join(o.Dir, k.name, "cluster"), HTTP: true,
	}
	if !k.alone {
		spec.NATSServers, spec.MasterStandbys, spec.FrontendStandbys = natsServers, 1, true
	}
	if k.network {
		if w.net, err = network.New(1 + natsServers + masters + frontends + nodes); err != nil {
			return nil, err
		}
		defer w.net.Close()
		spec.Network = hosts{w.net}
	}
	if w.c, err = product.Start(ctx, spec); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.c.Close()) }()
	if w.load, err = chaos.NewClients(w.c.Frontends(), 1, []string{self, chaos.TaskVerb, w.tasks}); err != nil {
		return nil, err
	}
	defer w.load.Close()
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	if k.name != FrontendLost {
		w.load.SubmitEvery(loaded, cmp.Or(k.every, jobEvery), cmp.Or(k.lasts, taskLasts))
	}
	for run := range o.Runs {
		if !k.alone {
			w.revive()
		}
		if !delay.For(ctx, k.settle()) {
			return nil, ctx.Err()
		}
		pause, err := w.fail(ctx, k, run)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", run+1, err)
		}
		o.Progress(fmt.Sprintf("%s, run %d of %d: %.3f s", k.name, run+1, o.Runs, pause.Seconds()))
		pauses = append(pauses, pause)
	}
	return pauses, nil
}

// settle returns how long it takes until the next failure: a NATS server that has returned
// catches up first, since another one without quorum is another failure.
func (k *kind) settle() time.Duration {
	if k.name == NATSLost {
		return 5 * settleFor
	}
	return settleFor
}

// revive starts frontends again that have ended because they could not renew their
// leadership, as a supervisor does.
func (w *world) revive() {
	for i := range frontends {
		if w.c.Pid(cluster.Frontend, i) == 0 {
			_ = w.c.Restart(cluster.Frontend, i) // it may run by now
		}
	}
}

// fail makes one failure happen, measures the pause, and ends the failure.
func (w *world) fail(ctx context.Context, k kind, run int) (time.Duration, error) {
	switch k.name {
	case FrontendLost:
		return w.loseFrontend(ctx)
	case NATSLost:
		return w.pauseOfLaunches(ctx, cluster.NATS, run%natsServers, k)
	case ProcessKilled:
		return w.killProcess(ctx)
	case NodeLost:
		return w.loseNode(ctx)
	case FrontendRestart:
		return w.restartFrontend(ctx)
	case MasterRestart:
		return w.pauseOfLaunches(ctx, cluster.Master, 0, k)
	default:
		leader, err := w.leader(ctx, cluster.Master, masters)
		if err != nil {
			return 0, err
		}
		return w.pauseOfLaunches(ctx, cluster.Master, leader, k)
	}
}

// pauseOfLaunches ends, pauses or cuts off a daemon, and returns the pause of launches.
func (w *world) pauseOfLaunches(ctx context.Context, r cluster.Role, i int, k kind) (_ time.Duration, err error) {
	at := chaos.Now()
	restore := func() error { return w.c.Restart(r, i) }
	switch k.name {
	case MasterPause:
		err = w.c.Pause(r, i)
		restore = func() error { return w.c.Resume(r, i) }
	case MasterPartition:
		host := hosts{w.net}.number(r, i)
		heal := w.net.Add(network.Rule{Cut: true}, func(from, to int) bool { return (from == host) != (to == host) && from != 0 && to != 0 })
		restore = func() error { heal(); return nil }
	default:
		err = w.c.Kill(r, i)
	}
	if err != nil {
		return 0, err
	}
	switch k.name {
	case MasterPause, MasterPartition:
		delay.For(ctx, hangs)
	case MasterRestart: // at once
	default:
		delay.For(ctx, downFor)
	}
	if err := restore(); err != nil {
		return 0, err
	}
	delay.For(ctx, watchFor)
	read := chaos.Now()
	events, err := history.ReadFolder(w.tasks)
	if err != nil {
		return 0, err
	}
	return k.pauseOf(events, at, read)
}

// pauseOf returns the pause of launches that a failure has caused, from events that were read at
// the given time.
func (k *kind) pauseOf(events []history.Event, at, read int64) (time.Duration, error) {
	if k.until != nextLaunch { // launches may go on: what counts is how long they did not, also when the daemon returns
		p, err := pauseAfter(events, at, read, time.Hour)
		return p.length, err
	}
	p, err := pauseAfter(events, at, read, beginWithin)
	if err == nil && p.lasts {
		err = fmt.Errorf("no task has started for the last %.1f s, and the pause began within %v of the failure", p.length.Seconds(), beginWithin)
	}
	return p.end, err
}

// pause is a time without a start of a task. Its end is counted from the failure.
type pause struct {
	length, end time.Duration
	lasts       bool // no start has ended it
}

// pauseAfter returns the longest pause of starts that begins within a time after an instant, from
// events that were read at the given time. The last one lasts until then.
func pauseAfter(events []history.Event, at, read int64, within time.Duration) (longest pause, err error) {
	last, some := at, false
	for _, e := range events {
		if e.Event != history.Start || e.Time < at {
			continue
		}
		some = true
		if length := time.Duration(e.Time - last); length > longest.length && last-at <= within.Nanoseconds() {
			longest = pause{length: length, end: time.Duration(e.Time - at)}
		}
		last = e.Time
	}
	if !some {
		return pause{}, fmt.Errorf("no task has started for %.1f s after the failure", float64(read-at)/1e9)
	}
	if length := time.Duration(read - last); length > longest.length && last-at <= within.Nanoseconds() {
		longest = pause{length: length, end: time.Duration(read - at), lasts: true}
	}
	return longest, nil
}
