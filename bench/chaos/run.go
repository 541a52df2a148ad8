package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// calmFor is how long the load continues after healing.
	calmFor = 15 * time.Second
	// endWithin is how long jobs may take to be accepted and to end after the load.
	endWithin = 90 * time.Second
	// idleWithin is how long workers may take to be there and idle after the last job.
	idleWithin = 15 * time.Second
	// lostAfter is the silence after which a node is taken for lost.
	lostAfter = 2 * time.Second
)

// Run runs a cluster under faults and checks what happened. The error is of the harness
// itself; the findings are in the result. Faults of the network are injected when this
// program was started by network.Enter; otherwise the result says why they are left out.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	r, err := o.prepare()
	if err != nil {
		return nil, err
	}
	w, err := start(ctx, &o)
	if err != nil {
		return nil, err
	}
	run, err := w.run(ctx, r)
	if err = errors.Join(err, w.close()); err != nil {
		return nil, err
	}
	if run.Events, err = history.ReadFolder(w.histories); err != nil {
		return nil, err
	}
	if run.Results, err = acceptedResults(w.cluster.Histories()); err != nil {
		return nil, err
	}
	r.summarize(run)
	r.Recovery = recoveriesOf(run, w.injector.recoveries, w.fleet.groups == 1)
	if err := keep(o.Dir, r, run); err != nil {
		return nil, err
	}
	return r, nil
}

// prepare completes the options, leaves out the kinds of faults that cannot be injected here, and
// returns the result of a run of what is left. The programme is drawn from these kinds, so that
// the command that runs it again names no other.
func (o *Options) prepare() (*Result, error) {
	o.choose()
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &Result{Policy: cmp.Or(o.Policy, "pigeon"), Seed: o.Seed, Binary: o.Binary, Beside: o.Beside, Rate: o.Rate, Dir: o.Dir, Standbys: o.Standbys}
	for _, kind := range kinds {
		if kind.shifts && slices.Contains(o.Kinds, kind.name) && !o.canShift() {
			o.Kinds = slices.DeleteFunc(slices.Clone(o.Kinds), func(k string) bool { return k == kind.name })
			r.LeftOut = append(r.LeftOut, kind.name+": the daemons' program was not built by tools/wallshift.sh")
		}
	}
	if o.Spark != nil && slices.Contains(o.Kinds, history.NodeDisk) {
		o.Kinds = slices.DeleteFunc(slices.Clone(o.Kinds), func(k string) bool { return k == history.NodeDisk })
		r.LeftOut = append(r.LeftOut, history.NodeDisk+": running executors could not write either, and Spark would fail their jobs")
	}
	if !network.Entered() {
		left := slices.DeleteFunc(slices.Clone(o.Kinds), func(k string) bool { return !NeedsNetwork(k) })
		o.Kinds = slices.DeleteFunc(slices.Clone(o.Kinds), NeedsNetwork)
		if o.Beside != "" {
			return nil, errors.New("daemons of two programs need network namespaces, which this program may not make here; nothing was started")
		}
		if len(left) > 0 {
			r.LeftOut = append(r.LeftOut, strings.Join(left, ", ")+": this program may not make network namespaces here")
		}
	}
	if len(o.Kinds) == 0 {
		return nil, errors.New("none of the kinds of faults can be injected here; nothing was started")
	}
	r.Command = o.command(o.Kinds)
	return r, nil
}

// world is the cluster of a run with what acts on it.
type world struct {
	o         *Options
	fleet     fleet
	histories string // folder of what tasks write
	walls     string // folder of the files that move wall clocks
	suspends  bool
	binds     bool
	hosts     *hosts
	disk      *disk
	cluster   *cluster.Cluster
	clients   *Clients
	injector  *injector
}

// start starts the cluster.
func start(ctx context.Context, o *Options) (_ *world, err error) {
	w := &world{o: o, fleet: fleetOf(o, groups), histories: filepath.Join(o.Dir, "tasks")}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.histories, 0o755); err != nil { // of one run only
		return nil, fmt.Errorf("the folder for the tasks' histories could not be made: %w; name a folder without another run", err)
	}
	// The daemons' working folder is another one.
	if w.histories, err = filepath.Abs(w.histories); err != nil {
		return nil, err
	}
	p, _, err := policy.Configure(cmp.Or(o.Policy, "pigeon"), sched.Params{Cutoff: sched.Time(time.Second), Reserved: reservedShare})
	if err != nil {
		return nil, err
	}
	if p.SingleMaster() {
		w.fleet = fleetOf(o, 1)
	}
	w.suspends, w.binds = p.Suspending || p.NodesSuspend, p.LateBinding || p.NodesSuspend
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := o.program()
	if err != nil {
		return nil, err
	}
	spec := cluster.Spec{
		Groups: slices.Repeat([]int{nodesPerGroup}, groups), Slots: slotsPerNode, Frontends: frontends, Policy: o.Policy, Reserved: reservedShare, Seed: max(1, o.Seed),
		Isolation: cluster.Process, Dir: filepath.Join(o.Dir, "cluster"), History: true, HTTP: true, Command: []string{program}, Earlier: o.Binary != "" || o.Beside != "",
		NATSServers: w.fleet.nats, FrontendStandbys: o.Standbys, MasterStandbys: w.fleet.standbys,
	}
	w.walls = filepath.Join(filepath.Dir(w.histories), "clocks")
	if err := os.MkdirAll(w.walls, 0o755); err != nil {
		return nil, err
	}
	spec.Env, spec.Configure = []string{cluster.WallClockVariable + "=" + w.walls}, w.configure
	if o.JournalFaults != "" || slices.Contains(o.Kinds, history.SlowDisk) || slices.Contains(o.Kinds, history.BadDisk) {
		spec.Env = append(spec.Env, "PIGEON_CHAOS=1") // older versions do not know it and refuse to start
	}
	if network.Entered() {
		if w.hosts, err = newHosts(w.fleet); err != nil {
			return nil, err
		}
		w.hosts.beside = o.Beside
		spec.Network = w.hosts
		if w.disk, err = newDisk(filepath.Join(spec.Dir, "small-disk")); err != nil {
			return nil, err
		}
	}
	if w.cluster, err = cluster.Start(ctx, spec); err != nil {
		return nil, err
	}
	w.clients, err = NewClients(w.cluster.Frontends(), frontends, []string{self, TaskVerb, w.histories})
	return w, err
}

// configure gives frontends their disks.
func (w *world) configure(config any) {
	c, ok := config.(*frontend.Config)
	switch {
	case !ok:
	case c.ID == frontendName(withFailingDisk):
		c.JournalFaults = w.o.JournalFaults
	case c.ID == frontendName(withSmallDisk) && w.disk != nil:
		c.Data = filepath.Join(w.disk.dir, "journal")
	}
}

func frontendName(i int) string { return fmt.Sprintf("%s-%d", cluster.Frontend, i) }

func (w *world) close() (err error) {
	if w.clients != nil {
		w.clients.Close()
	}
	if w.cluster != nil {
		err = w.cluster.Close()
	}
	if w.hosts != nil {
		w.hosts.network.Close()
	}
	if w.disk != nil {
		err = errors.Join(err, w.disk.keep(filepath.Join(w.o.Dir, "cluster", "journal", "small-disk")), w.disk.unmount())
	}
	return err
}

// run is the programme: load under faults, load without, the end of all jobs.
func (w *world) run(ctx context.Context, r *Result) (*history.Run, error) {
	spark, err := w.startApplications(ctx)
	if err != nil {
		return nil, err
	}
	if spark != nil {
		defer spark.Stop()
	}
	run := w.newRecord()
	w.injector = newInjector(w.cluster, w.fleet, w.hosts, w.disk, w.walls, run.Began, w.o.Progress)
	unsupervise := w.supervise(ctx)
	defer unsupervise()
	watch := &observer{c: w.cluster, fleet: w.fleet, frontends: w.clients.frontends}
	if err := w.underLoad(ctx, r, run, watch, spark); err != nil {
		return nil, err
	}
	run.Done = watch.last(ctx, idleWithin) // a daemon that ends by itself now has to be there again as well
	unsupervise()
	if err := keepPages(ctx, w.cluster, w.fleet, filepath.Join(w.o.Dir, "pages")); err != nil {
		return nil, err
	}
	run.Stall, run.Slots, run.Groups, run.Footprints = watch.stall, watch.slots, watch.groups, watch.footprints
	run.Faults, run.Ends = w.injector.faults, w.injector.ends
	r.Stall = run.Stall.Seconds()
	if w.hosts != nil {
		r.Packets = w.hosts.network.Counts()
	}
	return run, nil
}

// supervise starts daemons again that end by themselves, until the returned function is called.
func (w *world) supervise(ctx context.Context) (stop func()) {
	supervised, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { w.injector.supervise(supervised) })
	return func() {
		end()
		running.Wait()
		w.injector.recovering.Wait()
	}
}

// startApplications starts the Spark applications in the mix; nil without.
func (w *world) startApplications(ctx context.Context) (*RunningApplications, error) {
	if w.o.Spark == nil {
		return nil, nil //nolint:nilnil // as described
	}
	return w.o.Spark.Start(ctx, ApplicationOptions{
		Frontends: w.cluster.Frontends(), Executors: groups * nodesPerGroup, Settings: w.driverAddress(), Seed: w.o.Seed, Lasts: w.o.Lasts, Progress: w.o.Progress,
	})
}

// newRecord returns the record of a run that begins now.
func (w *world) newRecord() *history.Run {
	run := &history.Run{
		Suspends: w.suspends, Binds: w.binds, LostAfter: lostAfter, Standbys: w.o.Standbys, Began: Now(), Frontends: frontends, Workers: w.fleet.workers(),
	}
	for _, v := range w.fleet.daemons() {
		if v.role == cluster.NodeMonitor {
			run.Nodes = append(run.Nodes, w.cluster.Name(v.role, v.number))
		}
	}
	if w.o.JournalFaults != "" {
		run.FailingDisk = frontendName(withFailingDisk)
	}
	return run
}

// underLoad submits jobs while faults are injected and for a time after that, and returns when all
// of them have ended, or patience has.
func (w *world) underLoad(ctx context.Context, r *Result, run *history.Run, watch *observer, spark *RunningApplications) error {
	jobs, giveUp := context.WithCancel(ctx)
	defer giveUp()
	load, endLoad := context.WithCancel(jobs)
	observed, endObserved := context.WithCancel(context.WithoutCancel(ctx))
	defer endObserved()
	seen := make(chan struct{})
	go func() { defer close(seen); watch.run(observed) }()
	submitted := make(chan struct{})
	go func() { defer close(submitted); w.clients.submitAll(jobs, load, w.o) }()

	w.injector.run(ctx, plan(w.o, w.fleet))
	sleepUntil(ctx, run.Began+w.o.Lasts.Nanoseconds())
	run.Healed = Now()
	watch.calm.Store(true)
	w.o.Progress(fmt.Sprintf("%.1f s: all faults are over", float64(run.Healed-run.Began)/1e9))
	delay.For(ctx, calmFor)
	run.Until = Now()
	endLoad()
	<-submitted
	for end := Now() + endWithin.Nanoseconds(); w.clients.unended() > 0 && Now() < end && delay.For(ctx, 50*time.Millisecond); {
	}
	r.Seconds = float64(Now()-run.Began) / 1e9
	if spark != nil {
		var err error
		if run.SparkJobs, err = spark.Finish(ctx); err != nil {
			return err
		}
	}
	run.Jobs = w.clients.all(context.WithoutCancel(ctx))
	giveUp()
	w.clients.running.Wait()
	endObserved()
	<-seen
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the run was ended early: %w", err)
	}
	return nil
}

// acceptedResults reads the frontends' histories: which results they accepted. The last line
// before a kill may be incomplete.
func acceptedResults(files []string) (list []history.Result, err error) {
	for _, path := range files {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) { // of a standby that never led
			continue
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				Job     string `json:"job"`
				Task    int    `json:"task"`
				Attempt int    `json:"attempt"`
				Event   string `json:"event"`
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == measure.Reported {
				list = append(list, history.Result{Job: e.Job, Task: e.Task, Attempt: e.Attempt})
			}
		}
	}
	return list, nil
}

// Again checks a run again whose folder was kept.
func Again(dir string) (*Result, error) {
	r, run := &Result{}, &history.Run{}
	for name, v := range map[string]any{"result.json": r, "run.json": run} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			return nil, fmt.Errorf("this is no folder of a run that was kept: %w", err)
		}
	}
	*r = Result{
		Policy: r.Policy, Seed: r.Seed, Binary: r.Binary, Beside: r.Beside, Seconds: r.Seconds, Rate: r.Rate, Command: r.Command, LeftOut: r.LeftOut, Recovery: r.Recovery,
		Standbys: r.Standbys, Stall: r.Stall, Packets: r.Packets, Dir: dir,
	}
	r.summarize(run)
	return r, nil
}

// keep writes the result and the record of the run next to the logs.
func keep(dir string, r *Result, run *history.Run) error {
	for name, v := range map[string]any{"result.json": r, "run.json": run} {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
