package kairos_test

import (
	"context"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/fifo"
	"github.com/pigeon-sched/pigeon/internal/policy/kairos"
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

func cluster(p sched.Policy) sim.Config {
	return sim.Config{
		Policy: p, Params: sched.Params{Cutoff: sched.Second}, Groups: []int{40, 40, 40}, Frontends: 10, Delay: 500 * sched.Microsecond, Seed: 1,
	}
}

// simulate runs the workload on the paper's EC2 cluster and checks what holds for
// every policy: each task runs once and as long as it is, and no job ends before
// its longest task.
func simulate(t *testing.T, w *workload.Workload, p sched.Policy) *sim.Outcome {
	t.Helper()
	o, err := sim.Run(context.Background(), w.Simulated(), cluster(p))
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

// percentile returns one of the completion of all jobs.
func percentile(o *sim.Outcome, p int) sched.Time {
	list := make([]sched.Time, len(o.Jobs))
	for i := range o.Jobs {
		list[i] = o.Jobs[i].Completion
	}
	slices.Sort(list)
	return list[(len(list)-1)*p/100]
}

// The paper's abstract: "Compared to YARN FIFO, Kairos reduces the median job
// completion time by 73%". docs/policies.md, kairos: "On these traces Kairos needs Q
// of 10 or more."
func TestAgainstFIFO(t *testing.T) {
	w := trace(t, "ngo_90.tr")
	few := kairos.Defaults()
	few.Extra = 2
	f, k, q2 := simulate(t, w, fifo.Policy()), simulate(t, w, kairos.Policy(kairos.Defaults())), simulate(t, w, kairos.Policy(few))
	if k.Suspensions == 0 || f.Suspensions != 0 {
		t.Errorf("%d and %d suspensions", k.Suspensions, f.Suspensions)
	}
	fm, km, qm := percentile(f, 50), percentile(k, 50), percentile(q2, 50)
	if km > fm*27/100 {
		t.Errorf("the median is %.2f s, under fifo %.2f s", km.Seconds(), fm.Seconds())
	}
	if qm < 10*km {
		t.Errorf("the median is %.2f s with Q = 2, %.2f s with 10", qm.Seconds(), km.Seconds())
	}
}

// At half load no job waits: almost all take their longest task and four messages.
func TestHalfLoad(t *testing.T) {
	w := trace(t, "exp_50.tr")
	o := simulate(t, w, kairos.Policy(kairos.Defaults()))
	quick := 0
	for i := range w.Jobs {
		if longest := sched.Time(slices.Max(w.Jobs[i].Durations)); o.Jobs[i].Completion < longest+10*sched.Millisecond {
			quick++
		}
	}
	if quick < len(w.Jobs)*98/100 {
		t.Errorf("%d of %d jobs take their longest task", quick, len(w.Jobs))
	}
}

// A node with several cores stands for that many workers.
func TestNodesOfSeveralCores(t *testing.T) {
	w := trace(t, "exp_50.tr")
	o := kairos.Defaults()
	o.Cores = 4
	simulate(t, w, kairos.Policy(o))
	o.Cores = 7
	if _, err := sim.Run(context.Background(), w.Simulated(), cluster(kairos.Policy(o))); err == nil {
		t.Error("120 workers make nodes of 7 cores")
	}
}

// A task that is alone on its node costs no events while it runs, so that decades of it are simulated
// at once, and the next task suspends it all the same.
func TestLoneTaskOfDecades(t *testing.T) {
	const decades = int64(1e9) * int64(sched.Second)
	long := &workload.Workload{Jobs: []workload.Job{
		{Line: 1, Durations: []int64{decades}}, {Line: 2, Arrival: decades / 2, Durations: []int64{int64(sched.Second)}},
	}}
	cfg := cluster(kairos.Policy(kairos.Defaults()))
	cfg.Groups = []int{1}
	got, err := sim.Run(t.Context(), long.Simulated(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got.Events > 100 || got.Suspensions != 1 || got.Jobs[1].Completion > 2*sched.Second {
		t.Errorf("%d events, %d suspensions, the second job takes %d ns", got.Events, got.Suspensions, got.Jobs[1].Completion)
	}
}

// However short quantum and heartbeat are set, or derived from the cutoff, each task of a
// millisecond has at most a thousand of each, so that a simulation ends.
func TestSmallestQuantum(t *testing.T) {
	w, err := workload.Open("gen:uniform,jobs=10,fanout=1,mean=1ms,spread=0,workers=1,load=1")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*kairos.Options, *sched.Params){
		"quantum":   func(o *kairos.Options, _ *sched.Params) { o.Quantum = 1 },
		"heartbeat": func(o *kairos.Options, _ *sched.Params) { o.Heartbeat = 1 },
		"cutoff":    func(_ *kairos.Options, p *sched.Params) { p.Cutoff = 1 },
	} {
		o, params := kairos.Defaults(), sched.Params{Cutoff: sched.Second}
		change(&o, &params)
		cfg := cluster(kairos.Policy(o))
		cfg.Params, cfg.Groups = params, []int{1}
		got, err := sim.Run(t.Context(), w.Simulated(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		const most = 2 * 10 * uint64(sched.Millisecond/kairos.MinQuantum) // ends of quanta and heartbeats
		if got.Completed != 10 || got.Events > 2*most {
			t.Errorf("%s: %d jobs done, %d events", name, got.Completed, got.Events)
		}
	}
}
