package eagle_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy/eagle"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

// simulate returns the events of a run with that share of reserved workers, and the
// processor time that it took.
func simulate(t *testing.T, w *workload.Workload, reserved float64) (events uint64, took time.Duration) {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := used()
	o, err := sim.Run(t.Context(), w.Simulated(), sim.Config{
		Policy: eagle.Policy(eagle.Defaults()), Params: sched.Params{Cutoff: sched.Second, Reserved: reserved},
		Groups: []int{120}, Frontends: 10, Delay: 500 * sched.Microsecond, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o.Events, used() - began
}

// With 2 % reserved, the paper's share for Yahoo, thousands of probes wait at two workers. An
// event costs about as much as with 10 %, not ten times: the order does not look at each
// probe for each.
func TestFewReservedWorkers(t *testing.T) {
	w, err := workload.Open(tracetest.Path(t, "ngo_90.tr"))
	if err != nil {
		t.Fatal(err)
	}
	if w, err = w.Classify(int64(sched.Second)).Resample(5000, 1, 120, 0.9); err != nil {
		t.Fatal(err)
	}
	const most, tries = 4, 5 // what else the process does counts too
	ratio := 0.0
	for range tries {
		events, took := simulate(t, w, 0.1)
		fewEvents, fewTook := simulate(t, w, 0.02)
		if ratio = (fewTook.Seconds() / float64(fewEvents)) / (took.Seconds() / float64(events)); ratio < most {
			return
		}
	}
	t.Errorf("an event costs %.1f times as much with 2 %% reserved as with 10 %%, at most %d times is expected", ratio, most)
}
