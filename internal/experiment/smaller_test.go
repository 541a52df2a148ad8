package experiment

import (
	"errors"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// bench/README.md: "The printed command repeats that run." It names the smaller run by the number
// of its first jobs, and the other jobs of a workload that is scaled to a load, drawn, or given wrong
// classes or a flood depend on that number.
func TestSmallerRunIsThatOfTheCommand(t *testing.T) {
	for name, change := range map[string]func(*workload.Options){
		"as it is":    func(*workload.Options) {},
		"load":        func(o *workload.Options) { o.Load = 0.5 },
		"resample":    func(o *workload.Options) { o.Resample = 25 },
		"wrong class": func(o *workload.Options) { o.WrongClass = 0.5 },
		"flood":       func(o *workload.Options) { o.Owners = &workload.Owners{Count: 3, Flood: 0.5, Burst: 10} },
	} {
		d := small()
		d.Workload.Jobs = 30
		change(&d.Workload)
		run, w := one(t, d)
		sought := w.Jobs[9] // the violation is that a master receives this job
		f := sim.Faults{Seed: 3, Kinds: sim.CrashNode, Until: 5 * sched.Second, Observe: func(_ sched.MasterCore, in *sched.Message, _ []sched.Action) error {
			if in.Kind == sched.Tasks && in.Arrival == sched.Time(sought.Arrival) && in.Estimate == sched.Time(sought.Estimate) && in.Owner == sought.Owner {
				return errors.New("the job arrived")
			}
			return nil
		}}
		report, smaller, jobs, err := run.SimulateFaults(t.Context(), w, time.Millisecond, f)
		if err != nil || report.Violated() == nil {
			t.Fatalf("%s: %v, %v", name, report.Violated(), err)
		}
		d.Workload.Jobs = jobs
		run, w = one(t, d)
		report, _, _, err = run.SimulateFaults(t.Context(), w, time.Millisecond, smaller)
		if err != nil || report.Violated() == nil {
			t.Errorf("%s: the run of the first %d jobs does not repeat the violation (%v)", name, jobs, err)
		}
		t.Logf("%s: %d of 30 jobs", name, jobs)
	}
}
