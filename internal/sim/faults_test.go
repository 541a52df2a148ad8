package sim_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
)

// faulty runs jobs under pigeon-x with faults, and returns the report and the log of faults.
func faulty(t *testing.T, f sim.Faults) (*sim.Report, string) {
	t.Helper()
	var log bytes.Buffer
	f.Log = &log
	cfg := under(t, "pigeon-x", sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{4, 4}, Frontends: 2, Delay: sched.Millisecond, Seed: 1})
	r, err := sim.RunWithFaults(context.Background(), drawn().Simulated()[:30], cfg, f)
	if err != nil {
		t.Fatal(err)
	}
	return r, log.String()
}

// The same seed produces the same history; another seed produces another.
func TestSameSeedSameHistory(t *testing.T) {
	run := func(seed uint64) string {
		r, log := faulty(t, sim.Faults{Seed: seed, Kinds: sim.AllKinds, Until: 10 * sched.Second})
		if err := r.Violated(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return log + r.History(1<<30)
	}
	first := run(1)
	if again := run(1); again != first {
		t.Error("the same seed produced two histories")
	}
	if first == run(2) {
		t.Error("two seeds produced the same history")
	}
}

// Each kind of fault happens when it is the only one enabled. Without faults all jobs are
// done.
func TestKindsHappenAlone(t *testing.T) {
	words := map[sim.Kinds]string{
		sim.Partition: "cannot reach", sim.CrashNode: "node", sim.CrashMaster: "master", sim.CrashFrontend: "distributor",
		sim.Pause: "is paused", sim.Suspect: "declares", sim.Cancel: "is cancelled",
		sim.Failover: "a standby leads", sim.Takeover: "a standby takes it over", sim.LoseNode: "never returns",
	}
	for _, kind := range append(sim.AllKinds.Each(), 0) {
		r, log := faulty(t, sim.Faults{Seed: 4, Kinds: kind, Until: 10 * sched.Second})
		if err := r.Violated(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if !strings.Contains(log, words[kind]) || (words[kind] == "" && strings.Contains(log, "#")) {
			t.Errorf("%s: the log is\n%s", kind, log)
		}
		if kind == 0 && (r.Done != 30 || r.Cancelled+r.Failed != 0) {
			t.Errorf("without faults %d of %d jobs are done", r.Done, r.Jobs)
		}
		if (kind == sim.Fail) != (r.Failed > 0) || (kind == sim.Cancel) != (r.Cancelled > 0) {
			t.Errorf("%s: %d jobs fail, %d are cancelled", kind, r.Failed, r.Cancelled)
		}
	}
}

// A violation that needs one fault is reduced to that fault and one job.
func TestShrink(t *testing.T) {
	cfg := under(t, "pigeon", sim.Config{Params: sched.Params{Cutoff: sched.Second}, Groups: []int{4, 4}, Frontends: 2, Delay: sched.Millisecond, Seed: 1})
	f := sim.Faults{Seed: 3, Kinds: sim.AllKinds &^ sim.Failover, Until: 10 * sched.Second, Observe: func(_ sched.MasterCore, in *sched.Message, _ []sched.Action) error {
		if in.Kind == sched.EpochIs && in.Epoch > 1 {
			return errors.New("a master was started again")
		}
		return nil
	}}
	first := func(count int) []sim.Job { return drawn().Simulated()[:count] }
	jobs, f := sim.Shrink(context.Background(), first, 30, cfg, f)
	if jobs != 1 || f.Kinds != sim.CrashMaster || len(f.Only) != 1 {
		t.Errorf("%d jobs, the kinds %s, the faults %v", jobs, f.Kinds, f.Only)
	}
	r, err := sim.RunWithFaults(context.Background(), first(jobs), cfg, f)
	if err != nil || r.Violated() == nil || !strings.Contains(r.Violated().Error(), "started again") {
		t.Errorf("%v, %v", r.Violated(), err)
	}
}

func TestParseKinds(t *testing.T) {
	for _, k := range append(sim.AllKinds.Each(), 0, sim.AllKinds, sim.Loss|sim.Fail) {
		if got, err := sim.ParseKinds(k.String()); err != nil || got != k {
			t.Errorf("%s is parsed as %s, %v", k, got, err)
		}
	}
	if _, err := sim.ParseKinds("loss,paws"); err == nil || !strings.Contains(err.Error(), `did you mean "pause"`) {
		t.Errorf("%v", err)
	}
}
