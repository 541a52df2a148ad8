package peacock

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim/corefuzz"
)

func FuzzWorker(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(data) })
	more := &sched.More{Load: sched.Load{Queued: 3, Work: 3 * second}, Threshold: second}
	plausible := []sched.Message{
		*ring(0, 1, 2), *ring(1, 2), {Kind: sched.Timeout}, *launch(1, 0), *ended(1),
		{Kind: sched.Probe, Job: sched.JobID{Lo: 1}, Distributor: distributor, Estimate: second, More: more},
		{Kind: sched.Probe, Job: sched.JobID{Lo: 2}, Distributor: distributor, Estimate: 2 * second, More: more},
		{Kind: sched.NoTask, Job: sched.JobID{Lo: 2}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := sched.WorkerConfig{Self: worker(1), Params: sched.Params{Cutoff: second}}
		corefuzz.Drive(t, NewWorker(cfg, Options{}), data, second/5, plausible...)
	})
}

func FuzzDistributor(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{
		*ring(0, 1, 2), *ring(1, 2), *submit(1, 5, second), *submit(2, 3, 0), {Kind: sched.Restored},
		{Kind: sched.GetTask, Job: sched.JobID{Lo: 1}}, {Kind: sched.GetTask, Job: sched.JobID{Lo: 2}},
		{Kind: sched.Report, Job: sched.JobID{Lo: 1}, Attempt: 1, Outcome: sched.Done}, {Kind: sched.Cancel, Job: sched.JobID{Lo: 2}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		corefuzz.Drive(t, NewDistributor(sched.DistributorConfig{Self: distributor, Params: sched.Params{Cutoff: second}}), data, second/5, plausible...)
	})
}
