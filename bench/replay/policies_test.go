package replay

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// specs returns the policies, and some with nodes of several slots; with -short only
// those that are named.
func specs(short ...string) []string {
	if testing.Short() {
		return short
	}
	return append(policy.Names(), "kairos:cores=2,q=4", "pigeon-x:canary=no")
}

// TestEveryPolicyLive replays a workload under every policy and simulates it: all
// jobs complete, each task runs once, times are not below those of the simulation,
// and the recorded inputs of every core, given to fresh ones, yield the same actions. The load is
// low, and times may be far above: other programs share the processors.
func TestEveryPolicyLive(t *testing.T) {
	t.Parallel()
	jobs := 50
	if testing.Short() {
		jobs = 20
	}
	for _, spec := range specs(pigeon.Name, "sparrow") { // one that binds late, and one that binds early
		t.Run(spec, func(t *testing.T) {
			t.Parallel() // most of the time all sleep
			run, w := under(t, spec, fmt.Sprintf("gen:exp,jobs=%d,mean=1s,load=0.4", jobs), 10)
			dir := t.TempDir()
			m, err := OnNewCluster(t.Context(), run, w, ClusterOptions{Configure: func(s *cluster.Spec) { s.Record = dir }})
			if err != nil {
				t.Fatal(err)
			}
			out, err := run.Simulate(t.Context(), w, experiment.SimOptions{Delay: 500 * time.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			live, simulated := run.Result(w, m.Outcome), run.Result(w, out)
			again := live.Attempts - int64(w.Tasks()) // canaries of pigeon-x are stopped and start anew, one a job at most
			if live.Completed != len(w.Jobs) || live.Failed != 0 || again < 0 || (again > 0 && spec != pigeon.NameX) || again > int64(len(w.Jobs)) {
				t.Errorf("%d of %d jobs completed, %d failed, %d attempts of %d tasks", live.Completed, len(w.Jobs), live.Failed, live.Attempts, w.Tasks())
			}
			for what, p := range map[string][2]measure.Number{
				"short p50": {live.Short.Completion.P50, simulated.Short.Completion.P50},
				"long p50":  {live.Long.Completion.P50, simulated.Long.Completion.P50},
				"makespan":  {live.Makespan, simulated.Makespan},
			} {
				if ratio := float64(p[0] / p[1]); math.IsNaN(ratio) || ratio < 0.5 || ratio > tooLong {
					t.Errorf("%s: %v live, %v simulated", what, p[0], p[1])
				}
			}
			checkLives(t, w, m.Events)
			verifyRecordings(t, run, dir)
		})
	}
}

// verifyRecordings feeds the inputs that were recorded of every daemon to fresh cores
// of its role.
func verifyRecordings(t *testing.T, run *experiment.Run, dir string) {
	t.Helper()
	spec := Spec(run)
	p, params, err := policy.Configure(run.Policy, sched.Params{Cutoff: run.Params.Cutoff, Weight: spec.Weight, Reserved: spec.Reserved})
	if err != nil {
		t.Fatal(err)
	}
	masters, nodes := len(spec.Groups), 0
	for _, n := range spec.Groups {
		nodes += n
	}
	if p.SingleMaster() {
		masters = 1
	}
	if p.NewMaster == nil {
		masters = 0 // it has no core
	}
	for role, c := range map[string]struct {
		files int
		fresh func(file string, self sched.Addr) sched.Core
	}{
		"frontend-": {spec.Frontends, func(_ string, self sched.Addr) sched.Core {
			return p.NewDistributor(sched.DistributorConfig{Self: self, Seed: run.Seed, Params: params})
		}},
		"master-": {masters, func(_ string, self sched.Addr) sched.Core {
			return p.NewMaster(sched.MasterConfig{Self: self, Seed: run.Seed, Params: params, MaxTasks: 2_000_000, Recover: true})
		}},
		"node-": {nodes, func(file string, self sched.Addr) sched.Core {
			group := int32(0)
			if _, rest, ok := strings.Cut(file, "node-node-"); ok && !p.SingleMaster() {
				group = int32(rest[0] - '0')
			}
			return p.NewWorker(sched.WorkerConfig{Self: self, Seed: run.Seed, Params: params, Master: sched.Addr{Role: sched.Master, ID: group}})
		}},
	} {
		files, err := filepath.Glob(filepath.Join(dir, role+"*.jsonl"))
		if err != nil || len(files) != c.files {
			t.Errorf("%d recordings %s*, want %d, %v", len(files), role, c.files, err)
		}
		for _, path := range files {
			if err := verifyRecording(path, func(self sched.Addr) sched.Core { return c.fresh(filepath.Base(path), self) }); err != nil {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
		}
	}
}

func verifyRecording(path string, fresh func(sched.Addr) sched.Core) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	steps, err := runloop.Verify(f, fresh)
	if err == nil && steps == 0 {
		err = fmt.Errorf("nothing was recorded")
	}
	return err
}

// TestKilledNodeLosesNoJob kills a node without warning while it works, under every
// policy: every accepted job completes, and every task has one accepted result.
func TestKilledNodeLosesNoJob(t *testing.T) {
	t.Parallel()
	for _, spec := range specs("sparrow") {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			run, w := under(t, spec, "gen:uniform,jobs=60,mean=100ms,fanout=5,load=0.6", 1)
			s := Spec(run)
			s.Isolation, s.History, s.Dir = cluster.Process, true, keptDir(t)
			c, err := cluster.Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			killed := make(chan error, 1)
			got := replayed(t, c, w, Options{Progress: once(func() { killed <- c.Kill(cluster.NodeMonitor, 1) })})
			select {
			case err := <-killed:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Error("the workload ended before a node was killed: it is too short for this machine")
			}
			if r := run.Result(w, got.Outcome); r.Completed != len(w.Jobs) || r.Failed != 0 {
				t.Errorf("%d of %d jobs completed, %d failed", r.Completed, len(w.Jobs), r.Failed)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			events, err := ReadHistories(c.Histories(), got.Began)
			if err != nil {
				t.Fatal(err)
			}
			checkOnce(t, w, events)
		})
	}
}

// once returns a progress function that acts when a third of the jobs is submitted.
func once(act func()) func(Progress) {
	done := false
	return func(p Progress) {
		if !done && 3*p.Submitted >= p.Jobs {
			done = true
			act()
		}
	}
}
