package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// stopWithin bounds how long a daemon may take to end after SIGTERM.
const stopWithin = 20 * time.Second

// superviseEvery is the time between two looks for daemons that ended by themselves.
const superviseEvery = 100 * time.Millisecond

// injector injects faults into a cluster and heals it. It is the supervisor of the daemons
// as well: one that ends by itself is started again.
type injector struct {
	c     *cluster.Cluster
	fleet fleet
	hosts *hosts // nil: no separate network
	disk  *disk  // of one frontend's journal; nil: no separate one
	walls string // folder of the files that move wall clocks
	began int64
	log   func(string)

	mu         sync.Mutex
	down       map[victim]bool // it is not to run
	guards     map[victim]int  // of nodes that were killed: their guards then
	faults     []history.Fault
	ends       []history.ProcessEnd
	recoveries map[string][]time.Duration
	recovering sync.WaitGroup
}

func newInjector(c *cluster.Cluster, f fleet, h *hosts, d *disk, walls string, began int64, log func(string)) *injector {
	return &injector{c: c, fleet: f, hosts: h, disk: d, walls: walls, began: began, log: log, down: map[victim]bool{}, guards: map[victim]int{}, recoveries: map[string][]time.Duration{}}
}

// run carries out the programme, and returns when the last fault is over.
func (in *injector) run(ctx context.Context, programme []planned) {
	var faults sync.WaitGroup
	for _, p := range programme {
		if !sleepUntil(ctx, in.began+p.at.Nanoseconds()) {
			break
		}
		faults.Go(func() { in.inject(ctx, p) })
	}
	faults.Wait()
}

// inject carries out one fault from its beginning to its end.
func (in *injector) inject(ctx context.Context, p planned) {
	f := history.Fault{Number: p.number, Kind: p.kind, Victim: in.name(p.of), From: Now()}
	in.log(fmt.Sprintf("fault %d at %.1f s: %s", p.number, float64(f.From-in.began)/1e9, p.describe(in)))
	k := kindOf(p.kind) // the options were checked
	err := k.inject(in, ctx, p, &f)
	f.To, f.Void = Now(), err != nil
	if err != nil {
		in.log(fmt.Sprintf("fault %d did not take place: %v", p.number, err))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults = append(in.faults, f)
}

func (in *injector) killed(ctx context.Context, p planned) error {
	if !in.take(p.of) {
		return errNotRunning
	}
	in.keepGuard(p.of, in.c.Pid(p.of.role, p.of.number))
	if err := in.c.Kill(p.of.role, p.of.number); err != nil {
		in.hold(p.of, false)
		return err
	}
	delay.For(ctx, p.lasts)
	in.restart(p.of)
	return nil
}

func (in *injector) paused(ctx context.Context, p planned) error {
	err := in.c.Pause(p.of.role, p.of.number)
	if err == nil {
		delay.For(ctx, p.lasts)
		_ = in.c.Resume(p.of.role, p.of.number) // it may have ended meanwhile
	}
	return err
}

// terminated stops a daemon in order, and records when.
func (in *injector) terminated(ctx context.Context, p planned, f *history.Fault) error {
	from := Now()
	to, err := in.stopped(ctx, p)
	if err == nil {
		f.Stops = []history.DaemonStop{{Daemon: in.name(p.of), From: from, To: to}}
	}
	return err
}

// stopped asks a daemon to end, which it has to do in time, and starts it again later. It
// returns when the process had ended.
func (in *injector) stopped(ctx context.Context, p planned) (ended int64, err error) {
	if !in.take(p.of) {
		return 0, errNotRunning
	}
	if err := in.c.Terminate(p.of.role, p.of.number); err != nil {
		in.hold(p.of, false)
		return 0, err
	}
	for end := Now() + stopWithin.Nanoseconds(); in.c.Pid(p.of.role, p.of.number) != 0; {
		if Now() > end {
			in.ended(p.of, fmt.Sprintf("it did not end within %v of SIGTERM and was killed", stopWithin))
			_ = in.c.Kill(p.of.role, p.of.number) // it may end by now
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	ended = Now()
	delay.For(ctx, p.lasts)
	in.restart(p.of)
	return ended, nil
}

// full takes the free space of a frontend's disk, or so much of it that no new job is accepted.
func (in *injector) full(ctx context.Context, p planned) error {
	share := 1.0
	if p.amount < 0.5 {
		share = 0.5
	}
	empty, err := in.disk.fill(share)
	defer empty()
	if err == nil {
		delay.For(ctx, p.lasts)
	}
	return err
}

// network changes what the switch does for the time of the fault.
func (in *injector) network(ctx context.Context, p planned, f *history.Fault) error {
	f.Peer = "*"
	between := in.hosts.between(p.of, nil, true)
	rule := network.Rule{Cut: true}
	switch p.kind {
	case history.Partition, history.OneWay:
		f.Peer = in.name(p.peer)
		between = in.hosts.between(p.of, &p.peer, p.kind == history.Partition)
	case history.Delay:
		rule = network.Rule{Delay: time.Duration(p.amount * 0.2e9), Jitter: time.Duration(p.amount * 0.3e9)}
	case history.Loss:
		rule = network.Rule{Loss: 0.05 + 0.25*p.amount}
	case history.Repeat:
		rule = network.Rule{Repeat: 0.1 + 0.5*p.amount}
	}
	heal := in.hosts.network.Add(rule, between)
	defer heal()
	if p.kind == history.HalfOpen {
		delay.For(ctx, p.lasts/4)
		if !in.take(p.of) {
			return errNotRunning
		}
		in.keepGuard(p.of, in.c.Pid(p.of.role, p.of.number))
		if err := in.c.Kill(p.of.role, p.of.number); err != nil {
			in.hold(p.of, false)
			return err
		}
		delay.For(ctx, 3*p.lasts/4)
		heal()
		in.restart(p.of)
		return nil
	}
	delay.For(ctx, p.lasts)
	return nil
}

// restart starts a daemon that was ended, and measures how long it takes to serve.
func (in *injector) restart(v victim) {
	err := in.c.Restart(v.role, v.number)
	in.hold(v, false)
	if err != nil {
		in.ended(v, "it could not be started again: "+err.Error())
		return
	}
	if v.role == cluster.Frontend && in.fleet.standbys == 0 {
		from := Now()
		in.recovering.Go(func() {
			if took, ok := serving(in.c.Frontends()[v.number], from); ok {
				in.recovered(recoveryFrontend, took)
			}
		})
	}
}

// supervise starts daemons again that ended by themselves, until ctx ends.
func (in *injector) supervise(ctx context.Context) {
	for delay.For(ctx, superviseEvery) {
		for _, v := range in.fleet.daemons() {
			if in.held(v) || in.c.Pid(v.role, v.number) != 0 {
				continue
			}
			why := in.c.Failure(v.role, v.number)
			if why == nil || in.held(v) {
				continue
			}
			in.ended(v, "it ended by itself: "+why.Error())
			delay.For(ctx, superviseEvery) // as a supervisor does, not at once
			in.restart(v)
		}
	}
}

func (in *injector) ended(v victim, what string) {
	in.log(in.name(v) + ": " + what)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ends = append(in.ends, history.ProcessEnd{Time: Now(), Daemon: in.name(v), What: what})
}

func (in *injector) recovered(kind string, took time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.recoveries[kind] = append(in.recoveries[kind], took)
}

func (in *injector) hold(v victim, down bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.down[v] = down
}

// take keeps a daemon from running until hold releases it. It reports false where another
// fault has done so and starts the daemon again: a rolling restart overlaps with other faults.
func (in *injector) take(v victim) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.down[v] {
		return false
	}
	in.down[v] = true
	return true
}

func (in *injector) held(v victim) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.down[v]
}

func (in *injector) name(v victim) string { return in.c.Name(v.role, v.number) }

func (p *planned) describe(in *injector) string {
	text := p.kind + " " + in.name(p.of)
	if p.kind == history.Partition || p.kind == history.OneWay {
		text += " to " + in.name(p.peer)
	}
	if p.lasts > 0 {
		text += fmt.Sprintf(" for %.1f s", p.lasts.Seconds())
	}
	return text
}

func sleepUntil(ctx context.Context, at int64) bool { return delay.For(ctx, time.Duration(at-Now())) }

// guardOf returns the guard of a node, given the process of its node monitor: its child, or the one
// that a former process of the node had when it was killed, which outlives that and continues under
// the next one (restart_grace). It returns 0 when the node does not run or has no guard.
func (in *injector) guardOf(v victim, node int) int {
	if child := guardOf(node); child != 0 || node == 0 {
		return child
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if former := in.guards[v]; isGuard(former) {
		return former
	}
	return 0
}

// keepGuard records the guard of a node that is about to be killed.
func (in *injector) keepGuard(v victim, node int) {
	if v.role != cluster.NodeMonitor {
		return
	}
	guard := in.guardOf(v, node)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.guards[v] = guard
}

func (in *injector) guardKilled(_ context.Context, p planned) error {
	return killGuard(in.guardOf(p.of, in.c.Pid(p.of.role, p.of.number)))
}

func (in *injector) taskKilled(_ context.Context, p planned, f *history.Fault) (err error) {
	f.Pid, err = killTask(in.guardOf(p.of, in.c.Pid(p.of.role, p.of.number)), p.amount)
	return err
}

// killGuard kills the guard of a node.
func killGuard(guard int) error {
	if guard == 0 {
		return errNoGuard
	}
	return syscall.Kill(guard, syscall.SIGKILL)
}

// killTask kills the process of a task of a guard; which selects one.
func killTask(guard int, which float64) (pid int, err error) {
	if guard == 0 {
		return 0, errNoGuard
	}
	tasks := childproc.ChildrenStartedWith(guard, TaskVerb)
	if len(tasks) == 0 {
		return 0, errNoTask
	}
	pid = tasks[int(which*float64(len(tasks)))]
	return pid, syscall.Kill(pid, syscall.SIGKILL)
}
