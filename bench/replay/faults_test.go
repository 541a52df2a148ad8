package replay

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rounds is how often a daemon of each role is killed.
var rounds = flag.Int("rounds", 1, "how often TestNothingIsLost kills a daemon of each role")

// lostAfter is when the other daemons take a silent node for lost.
const lostAfter = 2 * time.Second

// killedFor is how long a killed daemon is down: less and more than lostAfter by turns.
func killedFor(round int) time.Duration {
	return []time.Duration{lostAfter / 10, lostAfter + lostAfter/4, lostAfter / 3}[round%3]
}

// pausedFor is how long a daemon is paused: more and less than lostAfter by turns.
func pausedFor(round int) time.Duration {
	if testing.Short() {
		return lostAfter + lostAfter/4
	}
	return []time.Duration{2 * lostAfter, lostAfter / 4}[round%2]
}

// TestNothingIsLost: under each policy a workload runs on a cluster of processes while
// one daemon after another, of each role in turn, is killed without warning and
// started again. Every accepted job completes, every task has exactly one accepted
// result, and in the end every worker is idle.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, policy := range specs(pigeon.Name) {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			nothingIsLost(t, policy, killed)
		})
	}
}

// TestPausedDaemonsLoseNothing: the same while daemons are paused and resumed: a node
// that was taken for lost comes back with its former tasks and did not notice.
func TestPausedDaemonsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, policy := range specs(pigeon.Name) {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			nothingIsLost(t, policy, paused)
		})
	}
}

// fault is a fault of a daemon, and how it is repaired.
type fault struct {
	name      string
	inject    func(*cluster.Cluster, cluster.Role, int) error
	repair    func(*cluster.Cluster, cluster.Role, int) error
	restarted bool // it registers again as another process
	lasts     func(round int) time.Duration
}

var (
	killed = fault{"killed", (*cluster.Cluster).Kill, (*cluster.Cluster).Restart, true, killedFor}
	paused = fault{"paused", (*cluster.Cluster).Pause, (*cluster.Cluster).Resume, false, pausedFor}
)

func nothingIsLost(t *testing.T, policy string, f fault) {
	t.Helper()
	run, w := faultWorkload(t, policy)
	spec, groups := Spec(run), groupsOf(run)
	spec.Isolation, spec.History, spec.Dir = cluster.Process, true, keptDir(t)
	c, err := cluster.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	injected := make(chan struct{})
	go func() {
		defer close(injected)
		if err := injectInTurn(ctx, c, run.Description, groups, f); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}()
	stop := func() { cancel(); <-injected } // before the cluster is closed, in which nothing can be started
	defer stop()

	got := replayed(t, c, w, Options{})
	select {
	case <-injected:
	default:
		t.Error("the workload ended before the faults did: it is too short for this machine")
	}
	stop()
	r := run.Result(w, got.Outcome)
	if r.Completed != len(w.Jobs) || r.Failed != 0 {
		t.Errorf("%d of %d jobs completed, %d failed", r.Completed, len(w.Jobs), r.Failed)
	}
	if err := everyWorkerIsIdle(t.Context(), c, groups); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	events, err := ReadHistories(c.Histories(), got.Began)
	if err != nil {
		t.Fatal(err)
	}
	checkOnce(t, w, events)
	t.Logf("%d jobs, %d tasks, %d attempts", len(w.Jobs), w.Tasks(), r.Attempts)
}

// faultWorkload lasts for about ten seconds of arrivals a round.
func faultWorkload(t *testing.T, policy string) (*experiment.Run, *workload.Workload) {
	t.Helper()
	d := &experiment.Description{
		Trace:    fmt.Sprintf("gen:uniform,jobs=%d,mean=100ms,fanout=5,load=0.7", 100**rounds),
		Policies: []string{policy}, Groups: []int{4, 4}, Frontends: 2, Reserved: 0.3, Cutoff: time.Second, Seed: 1, Seeds: 1,
	}
	runs, err := d.Runs()
	if err != nil {
		t.Fatal(err)
	}
	w, err := runs[0].Workload()
	if err != nil {
		t.Fatal(err)
	}
	return &runs[0], w
}

// groupsOf returns the number of workers of each master.
func groupsOf(run *experiment.Run) []int {
	if run.Cores.SingleMaster() {
		return []int{run.Description.Workers()}
	}
	return run.Description.Groups
}

// injectInTurn injects the fault into one daemon at a time, and continues with the next
// when the daemon has registered again and the cluster has all its workers.
func injectInTurn(ctx context.Context, c *cluster.Cluster, d *experiment.Description, of []int, what fault) error {
	for round := range *rounds {
		for _, f := range []struct {
			role cluster.Role
			n    int
		}{{cluster.NodeMonitor, 4}, {cluster.Master, len(of)}, {cluster.Frontend, d.Frontends}} {
			victim := round % f.n
			before := map[string]bool{}
			err := askUntil(ctx, c, func(groups []api.MasterState) error {
				before = incarnations(groups)
				return complete(groups, of)
			})
			if err == nil {
				err = what.inject(c, f.role, victim)
			}
			if err == nil && delay.For(ctx, what.lasts(round)) {
				err = what.repair(c, f.role, victim)
			}
			if err == nil {
				err = askUntil(ctx, c, func(groups []api.MasterState) error {
					if what.restarted && f.role != cluster.Frontend && len(before) == len(incarnations(groups, before)) {
						return fmt.Errorf("it has not registered again")
					}
					return complete(groups, of)
				})
			}
			if err != nil {
				return fmt.Errorf("%s %d, %s in round %d: %w", f.role, victim, what.name, round, err)
			}
		}
	}
	return nil
}

// incarnations names every daemon behind the groups so that a new incarnation
// has a new name: masters take new epochs, nodes new ports. With others, they are
// the names in all of them.
func incarnations(groups []api.MasterState, others ...map[string]bool) map[string]bool {
	names := map[string]bool{}
	keep := func(name string) {
		for _, o := range others {
			if !o[name] {
				return
			}
		}
		names[name] = true
	}
	for g := range groups {
		keep(fmt.Sprintf("master %d, epoch %d", g, groups[g].Epoch))
		for _, n := range groups[g].Nodes {
			keep(n.ID + " at " + n.Address)
		}
	}
	return names
}

// healWithin bounds the time in which the cluster has all its workers back, on a machine
// that is busy with other things.
const healWithin = 2 * time.Minute

// askUntil requests the groups of every frontend until wanted accepts them.
func askUntil(ctx context.Context, c *cluster.Cluster, wanted func([]api.MasterState) error) error {
	ctx, cancel := context.WithTimeout(ctx, healWithin)
	defer cancel()
	for _, address := range c.Frontends() {
		pool, err := client.New(client.Options{Address: address, BackoffMax: 100 * time.Millisecond})
		if err != nil {
			return err
		}
		defer pool.Close()
		for scheduler := wire.NewSchedulerClient(pool); ; {
			groups, err := scheduler.Nodes(ctx)
			if err == nil {
				err = wanted(groups)
			}
			if err == nil {
				break
			}
			if !delay.For(ctx, 20*time.Millisecond) {
				return fmt.Errorf("frontend %s: %w", address, err)
			}
		}
	}
	return nil
}

// complete returns an error that names a group without all its workers.
func complete(groups []api.MasterState, of []int) error {
	for g := range groups {
		if s := &groups[g]; s.Workers != of[g] {
			return fmt.Errorf("group %d has %d of %d workers", g, s.Workers, of[g])
		}
	}
	return nil
}

func everyWorkerIsIdle(ctx context.Context, c *cluster.Cluster, of []int) error {
	return askUntil(ctx, c, func(groups []api.MasterState) error {
		for g := range groups {
			s := &groups[g]
			idle, busy := s.IdleGeneral+s.IdleReserved, s.BusyGeneral+s.BusyReserved
			if s.Workers != of[g] || idle != s.Workers || busy != 0 || s.QueuedShort+s.QueuedLong != 0 {
				return fmt.Errorf("group %d: %d workers of %d, %d idle, %d busy, %d tasks queued", g, s.Workers, of[g], idle, busy, s.QueuedShort+s.QueuedLong)
			}
		}
		return nil
	})
}

// checkOnce: no task has two accepted results, and none is missing but those
// that a frontend had accepted in the instant before it was killed, whose lines
// died with it (its journal has them: the job completed).
func checkOnce(t *testing.T, w *workload.Workload, events []measure.Event) {
	t.Helper()
	type task struct {
		job  string
		task int
	}
	accepted := map[task]int{}
	for _, e := range events {
		if e.Event == measure.Reported {
			accepted[task{e.Job, e.Task}]++
		}
	}
	for id, n := range accepted {
		if n != 1 {
			t.Errorf("task %d of job %s has %d accepted results", id.task, id.job, n)
		}
	}
	if missing := w.Tasks() - len(accepted); missing < 0 || missing > 20**rounds {
		t.Errorf("the histories lack %d of %d tasks", missing, w.Tasks())
	}
}
