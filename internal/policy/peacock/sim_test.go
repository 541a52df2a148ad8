package peacock_test

import (
	"context"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/peacock"
	"github.com/pigeon-sched/pigeon/internal/policy/sparrow"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

func trace(t *testing.T, name string) *workload.Workload {
	t.Helper()
	w, err := workload.Open(tracetest.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return w.Classify(int64(sched.Second))
}

// simulate runs the workload on the paper's EC2 cluster and checks what holds for
// every policy: each task runs once, and no job ends before its longest task.
func simulate(t *testing.T, w *workload.Workload, p sched.Policy) *sim.Outcome {
	t.Helper()
	o, err := sim.Run(context.Background(), w.Simulated(), sim.Config{
		Policy: p, Params: sched.Params{Cutoff: sched.Second}, Groups: []int{40, 40, 40}, Frontends: 10, Delay: 500 * sched.Microsecond, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var tasks int
	var work sched.Time
	for i := range w.Jobs {
		j := &w.Jobs[i]
		tasks += len(j.Durations)
		work += sched.Time(j.Work())
		if longest := sched.Time(slices.Max(j.Durations)); !o.Jobs[i].Ended || o.Jobs[i].Completion < longest {
			t.Errorf("job %d takes %d ns, its longest task %d ns", i, o.Jobs[i].Completion, longest)
		}
	}
	if o.Attempts != tasks || o.Busy != work || o.Makespan < work/120 {
		t.Errorf("%d attempts of %d tasks, %d ns of %d ns worked, in %d ns", o.Attempts, tasks, o.Busy, work, o.Makespan)
	}
	return o
}

// short returns the median completion of the short jobs.
func short(w *workload.Workload, o *sim.Outcome) sched.Time {
	var list []sched.Time
	for i := range w.Jobs {
		if !w.Jobs[i].TrueLong {
			list = append(list, o.Jobs[i].Completion)
		}
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// The paper's abstract: it "mitigates the Head-of-Line blocking problem, i.e.,
// shorter tasks are enqueued behind the longer tasks, better than the
// state-of-the-art", of which Sparrow is one.
func TestShortJobsPassLongOnes(t *testing.T) {
	w := trace(t, "ngo_90.tr")
	p, s := short(w, simulate(t, w, peacock.Policy(peacock.Options{}))), short(w, simulate(t, w, sparrow.Policy(sparrow.Defaults())))
	if p > s/4 {
		t.Errorf("short jobs take %.1f s in the median, under sparrow %.1f s", p.Seconds(), s.Seconds())
	}
}

// At half load most jobs take little longer than their longest task.
func TestHalfLoad(t *testing.T) {
	w := trace(t, "exp_50.tr")
	o := simulate(t, w, peacock.Policy(peacock.Options{}))
	quick := 0
	for i := range w.Jobs {
		if longest := sched.Time(slices.Max(w.Jobs[i].Durations)); o.Jobs[i].Completion < 2*longest {
			quick++
		}
	}
	if quick < len(w.Jobs)*8/10 {
		t.Errorf("%d of %d jobs take less than twice their longest task", quick, len(w.Jobs))
	}
}
