package failover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/bench/chaos"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/markdown"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// RollingOptions describe a rolling restart.
type RollingOptions struct {
	Groups, Nodes, Slots, Frontends int           // of the cluster; nodes in all
	Standbys                        bool          // of masters and frontends, with three NATS servers
	Grace                           time.Duration // for how long attempts outlive the restart of their node monitor; 0: nodes are stopped with SIGTERM
	Load                            float64       // share of the slots that tasks occupy
	Shortest, Longest               time.Duration // tasks of jobs of the long class
	Short                           time.Duration // tasks of jobs of the short class
	Quiet                           time.Duration // load before the first restart
	Pause                           time.Duration // after each restart
	Seed                            uint64
	Spark                           *chaos.Applications // beside the other work; nil: none
	Command                         []string
	Dir                             string
	Progress                        func(string)
}

// RollingResult is what "pigeon-bench rolling" prints; times in seconds.
type RollingResult struct {
	Bench      string         `json:"bench"`           // rolling
	Restarts   int            `json:"restarts"`        // daemons that were stopped in order and started again
	Ended      int            `json:"ended"`           // daemons that ended by themselves meanwhile, and were started again
	Took       measure.Number `json:"took"`            // from the first restart to the last
	Jobs       int            `json:"jobs"`            // submitted
	Failed     int            `json:"failed"`          // of them, or without an end
	Starts     int            `json:"starts"`          // of tasks
	Lost       int            `json:"lost"`            // attempts that began and did not end
	Again      int            `json:"again"`           // tasks that began more than once
	SparkJobs  int            `json:"spark_jobs"`      // of Spark applications
	SparkLost  int            `json:"spark_lost"`      // of them, those that did not complete
	QuietP99   measure.Number `json:"quiet_p99"`       // completion of jobs of the short class before the restarts
	RestartP99 measure.Number `json:"restart_p99"`     // and during them
	Slowest    measure.Number `json:"slowest_restart"` // from the request to stop until it served again
	Load       Load           `json:"load"`            // of the machine
	Reasons    []string       `json:"reasons"`         // why jobs failed, the first few
}

// Check refuses options that cannot work.
func (o *RollingOptions) Check() error {
	switch {
	case o.Groups < 1 || o.Nodes < o.Groups || o.Slots < 1 || o.Frontends < 1:
		return fmt.Errorf("%d groups, %d nodes, %d slots, %d frontends: each is at least 1, and no group is without a node; nothing was started", o.Groups, o.Nodes, o.Slots, o.Frontends)
	case !(o.Load > 0 && o.Load < 1):
		return fmt.Errorf("a load of %v is outside 0 to 1; nothing was started", o.Load)
	case o.Short <= 0 || o.Shortest <= 0 || o.Longest < o.Shortest:
		return fmt.Errorf("tasks of %v, and of %v to %v: times are above 0, the second not above the third; nothing was started", o.Short, o.Shortest, o.Longest)
	case o.Quiet <= 0:
		return fmt.Errorf("%v before the first restart is not above 0; nothing was started", o.Quiet)
	case o.Spark != nil:
		return o.Spark.Check()
	}
	return nil
}

// shareOfShort is the share of the work that is of the short class.
const shareOfShort = 0.2

// Rolling restarts every daemon of a cluster under load, one after another.
func Rolling(ctx context.Context, o RollingOptions) (_ *RollingResult, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	tasks := filepath.Join(o.Dir, "tasks")
	if err := os.MkdirAll(tasks, 0o755); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &RollingResult{Bench: "rolling", Load: Load{Before: measure.LoadAverage()}}
	c, err := cluster.Start(ctx, o.cluster())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	l, err := newLoad(c, o.Frontends, []string{self, chaos.TaskVerb, tasks})
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err := o.underLoad(ctx, c, l, r); err != nil {
		return nil, err
	}
	events, err := history.ReadFolder(tasks)
	if err != nil {
		return nil, err
	}
	r.attempts(events)
	return r, nil
}

// cluster returns the cluster whose daemons are restarted.
func (o *RollingOptions) cluster() cluster.Spec {
	spec := cluster.Spec{
		Groups: even(o.Nodes, o.Groups), Slots: o.Slots, Frontends: o.Frontends, Isolation: cluster.Process, Dir: filepath.Join(o.Dir, "cluster"), HTTP: true, Command: o.Command, RestartGrace: o.Grace,
	}
	if o.Standbys {
		spec.NATSServers, spec.MasterStandbys, spec.FrontendStandbys = natsServers, 1, true
	}
	if o.Spark != nil {
		spec.Configure = func(config any) {
			if c, is := config.(*nodemonitor.Config); is {
				c.Memory = o.Spark.NodeMemory()
			}
		}
	}
	return spec
}

// underLoad restarts the daemons while jobs are submitted, and returns when these have ended.
func (o *RollingOptions) underLoad(ctx context.Context, c *cluster.Cluster, l *load, r *RollingResult) (err error) {
	all, giveUp := context.WithCancel(ctx)
	var supervised sync.WaitGroup
	defer supervised.Wait()
	defer giveUp()
	loaded, stop := context.WithCancel(all)
	defer stop()
	v := &supervisor{}
	supervised.Go(func() { v.run(all, c) })
	var spark *chaos.RunningApplications
	if o.Spark != nil {
		if spark, err = o.Spark.Start(all, o.applicationOptions(c)); err != nil {
			return err
		}
		defer spark.Stop()
	}
	o.begin(all, loaded, l)

	began, before := chaos.Now(), int(v.ended.Load())
	if !delay.For(ctx, o.Quiet) {
		return ctx.Err()
	}
	restarts := chaos.Now()
	if err := o.restartAll(ctx, c, v, r); err != nil {
		return err
	}
	over := chaos.Now()
	r.Ended = int(v.ended.Load()) - before
	stop()
	o.awaitJobs(l, giveUp)
	if spark != nil {
		if err := r.countSpark(spark.Finish(ctx)); err != nil {
			return err
		}
	}
	r.Took, r.Load.After = measure.Number(float64(over-restarts)/1e9), measure.LoadAverage()
	r.count(l.between(0, over+int64(time.Hour)))
	r.QuietP99, r.RestartP99 = shortP99(l.between(began, restarts)), shortP99(l.between(restarts, over))
	return nil
}

// awaitJobs waits until all jobs have ended, and gives those up that take too long.
func (o *RollingOptions) awaitJobs(l *load, giveUp func()) {
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2*o.Longest + 30*time.Second):
		giveUp()
		<-ended
	}
}

// applicationOptions returns what Spark applications do: they have work for as long as daemons restart, by an
// estimate.
func (o *RollingOptions) applicationOptions(c *cluster.Cluster) chaos.ApplicationOptions {
	daemons := 0
	for _, role := range restarted {
		daemons += c.Count(role)
	}
	return chaos.ApplicationOptions{
		Frontends: c.Frontends(), Executors: o.executors(), Seed: o.Seed, Lasts: o.Quiet + time.Duration(daemons)*(o.Pause+time.Second), Progress: o.Progress,
	}
}

// mostExecutors bounds the executors of each Spark application: JVMs that start together on a small
// machine leave daemons without a processor for longer than their leadership lasts.
const mostExecutors = 3

func (o *RollingOptions) executors() int { return min(o.Nodes, mostExecutors) }

func even(nodes, groups int) (sizes []int) {
	for g := range groups {
		sizes = append(sizes, (nodes+groups-1-g)/groups)
	}
	return sizes
}

// begin submits jobs until loaded ends; they are followed until all ends.
func (o *RollingOptions) begin(all, loaded context.Context, l *load) {
	draw := rand.New(rand.NewPCG(o.Seed, 0x2011)) //nolint:gosec // it is to be repeated
	work := o.Load * float64(o.Nodes*o.Slots)     // seconds of tasks a second
	mean := (o.Shortest + o.Longest) / 2
	every := func(class string, share float64, lasts func() time.Duration, mean time.Duration) {
		for gap := mean.Seconds() / (share * work); delay.For(loaded, time.Duration(gap*1e9)); {
			l.submit(all, class, 1, lasts())
		}
	}
	go every("short", shareOfShort, func() time.Duration { return o.Short }, o.Short)
	go every("long", 1-shareOfShort, func() time.Duration { return o.Shortest + time.Duration(draw.Int64N(int64(o.Longest-o.Shortest)+1)) }, mean)
}

// restarted are the roles in the order in which their daemons are restarted.
var restarted = []cluster.Role{cluster.NATS, cluster.Master, cluster.Frontend, cluster.NodeMonitor}

// restartAll restarts the daemons, role by role.
func (o *RollingOptions) restartAll(ctx context.Context, c *cluster.Cluster, v *supervisor, r *RollingResult) error {
	for _, role := range restarted {
		for i := range c.Count(role) {
			from := time.Now()
			v.planned.Lock()
			err := o.restart(ctx, c, role, i)
			v.planned.Unlock()
			if err != nil {
				return err
			}
			took := time.Since(from)
			r.Restarts++
			r.Slowest = max(r.Slowest, measure.Number(took.Seconds()))
			o.Progress(fmt.Sprintf("%s was restarted in %.1f s", c.Name(role, i), took.Seconds()))
			if !delay.For(ctx, o.Pause) {
				return ctx.Err()
			}
		}
	}
	return nil
}

// supervisor starts daemons again that have ended by themselves: a frontend that could not renew its
// leadership, because the machine was too busy (when JVMs start, for instance).
type supervisor struct {
	planned sync.Mutex   // held while a daemon is being restarted by plan
	ended   atomic.Int64 // daemons that it has started again
}

// run supervises until ctx ends.
func (v *supervisor) run(ctx context.Context, c *cluster.Cluster) {
	for delay.For(ctx, 200*time.Millisecond) {
		v.planned.Lock()
		for _, role := range restarted {
			for i := range c.Count(role) {
				if ctx.Err() == nil && c.Pid(role, i) == 0 && c.Restart(role, i) == nil {
					v.ended.Add(1)
				}
			}
		}
		v.planned.Unlock()
	}
}

// stopWithin bounds how long a daemon may take to end in order: a node waits for its running tasks.
const stopWithin = 90 * time.Second

// restart stops a daemon in order, starts it again, and waits until it serves.
func (o *RollingOptions) restart(ctx context.Context, c *cluster.Cluster, role cluster.Role, i int) error {
	stop := func() error { return c.Terminate(role, i) }
	if role == cluster.NodeMonitor && o.Grace > 0 {
		stop = func() error { return c.HandOver(i) }
	}
	if err := stop(); err != nil {
		return err
	}
	for end := time.Now().Add(stopWithin); c.Pid(role, i) != 0; {
		if time.Now().After(end) || !delay.For(ctx, 20*time.Millisecond) {
			return errors.Join(fmt.Errorf("%s did not end within %v of SIGTERM", c.Name(role, i), stopWithin), ctx.Err())
		}
	}
	if err := c.Restart(role, i); err != nil {
		return err
	}
	at := c.HTTP(role, i)
	for end := time.Now().Add(stopWithin); at != "" && !answers(ctx, "http://"+at+"/healthz"); {
		if time.Now().After(end) || !delay.For(ctx, 20*time.Millisecond) {
			return errors.Join(fmt.Errorf("%s does not serve for %v after its start", c.Name(role, i), stopWithin), ctx.Err())
		}
	}
	return nil
}

// count counts jobs and those that failed.
func (r *RollingResult) count(jobs []jobOutcome) {
	r.Jobs = len(jobs)
	for _, j := range jobs {
		if j.state == api.StateCompleted {
			continue
		}
		r.Failed++
		if len(r.Reasons) < 5 {
			r.Reasons = append(r.Reasons, fmt.Sprintf("%s, state %q", j.class, j.state))
		}
	}
}

// countSpark counts the jobs of Spark applications and those that did not complete.
func (r *RollingResult) countSpark(jobs []history.SparkJob, err error) error {
	r.SparkJobs = len(jobs)
	for _, j := range jobs {
		if j.State == "completed" {
			continue
		}
		r.SparkLost++
		if len(r.Reasons) < 5 {
			r.Reasons = append(r.Reasons, fmt.Sprintf("job %d of Spark application %d, state %q", j.Job, j.Application, j.State))
		}
	}
	return err
}

// attempts counts what tasks wrote.
func (r *RollingResult) attempts(events []history.Event) {
	type attempt struct {
		job           string
		task, attempt int
	}
	begun, tasks := map[attempt]int{}, map[attempt]int{}
	for _, e := range events {
		id := attempt{e.Job, e.Task, e.Attempt}
		switch e.Event {
		case history.Start:
			r.Starts++
			begun[id]++
			tasks[attempt{e.Job, e.Task, 0}]++
		case history.End:
			begun[id]--
		}
	}
	for _, n := range begun {
		r.Lost += max(0, n)
	}
	for _, n := range tasks {
		if n > 1 {
			r.Again++
		}
	}
}

// shortP99 returns the 99th percentile of the completion of jobs of the short class.
func shortP99(jobs []jobOutcome) measure.Number {
	var all []measure.Number
	for _, j := range jobs {
		if j.class == "short" && j.ended != 0 {
			all = append(all, measure.Number(float64(j.ended-j.submitted)/1e9))
		}
	}
	slices.Sort(all)
	return percentile(all, 99)
}

// nodesToo returns how nodes are stopped.
func (o *RollingOptions) nodesToo() string {
	if o.Grace > 0 {
		return ": SIGUSR2, which leaves what runs to the next process"
	}
	return " as well, which gives them 30 s for what runs"
}

// Write writes the result as Markdown.
func (r *RollingResult) Write(out io.Writer, o *RollingOptions, machine, when string) error {
	row := func(what, value, goal string) []string { return []string{what, value, goal} }
	t := markdown.Table{Head: []string{"what", "measured", "goal"}, Rows: [][]string{
		row("daemons restarted", fmt.Sprint(r.Restarts), "-"), row("daemons that ended by themselves", fmt.Sprint(r.Ended), "0"), row("jobs submitted", fmt.Sprint(r.Jobs), "-"), row("jobs failed", fmt.Sprint(r.Failed), "0"),
		row("attempts that began and did not end", fmt.Sprint(r.Lost), "0"), row("tasks that began again", fmt.Sprint(r.Again), "-"),
		row("jobs of Spark applications", fmt.Sprint(r.SparkJobs), "-"), row("of them not completed", fmt.Sprint(r.SparkLost), "0"),
		row("p99 of short jobs before (s)", seconds(r.QuietP99), "-"), row("p99 of short jobs meanwhile (s)", seconds(r.RestartP99), "at most twice that"),
		row("slowest restart (s)", seconds(r.Slowest), "-"),
	}}
	applications := ""
	if o.Spark != nil {
		applications = fmt.Sprintf(", and %d Spark applications with %d executors each and a small job every two seconds", o.Spark.Count, o.executors())
	}
	what := fmt.Sprintf("%d groups with %d nodes of %d slots in all, %d frontends; load %.0f %% of exec tasks of %v (short class) and %v to %v (long class)%s; each daemon is sent SIGTERM (nodes%s) and started again, one after another.",
		o.Groups, o.Nodes, o.Slots, o.Frontends, 100*o.Load, o.Short, o.Shortest, o.Longest, applications, o.nodesToo())
	return report.Write(out, "rolling", map[string]any{"Machine": machine, "When": when, "Table": t, "R": r, "What": what})
}
