package probing_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim/corefuzz"
)

func FuzzDistributor(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(false, data); f.Add(true, data) })
	plausible := []sched.Message{
		*members(0, 1, 2), *members(1, 2), {Kind: sched.Restored}, {Kind: sched.GetTask, Job: job(1)}, {Kind: sched.Cancel, Job: job(2)},
		{Kind: sched.Submit, Job: job(1), Count: 5, Retries: 1}, {Kind: sched.Submit, Job: job(2), Count: 3, Estimate: sched.Second},
		{Kind: sched.Report, Job: job(1), Attempt: 1, Outcome: sched.Done}, {Kind: sched.Refused, Job: job(1), Attempt: 1},
	}
	f.Fuzz(func(t *testing.T, cancels bool, data []byte) {
		cfg := sched.DistributorConfig{Self: self, Params: sched.Params{Cutoff: sched.Second}}
		corefuzz.Drive(t, probing.NewDistributor(cfg, probing.Options{Ratio: 2, Cancel: cancels}), data, sched.Second, plausible...)
	})
}

func FuzzWorker(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(false, data); f.Add(true, data) })
	plausible := []sched.Message{
		{Kind: sched.Probe, Job: job(1), Distributor: self, Estimate: sched.Second}, {Kind: sched.Probe, Job: job(2), Distributor: self},
		{Kind: sched.Launch, Job: job(1), Attempt: 1, Count: 1, Distributor: self}, {Kind: sched.NoTask, Job: job(2)},
		{Kind: sched.Ended, Job: job(1), Attempt: 1, Outcome: sched.Done}, {Kind: sched.CancelProbe, Job: job(2)},
	}
	f.Fuzz(func(t *testing.T, sticky bool, data []byte) {
		corefuzz.Drive(t, probing.NewWorker(sched.WorkerConfig{Master: central}, probing.Rules{Sticky: sticky}), data, sched.Second, plausible...)
	})
}
