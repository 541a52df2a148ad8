package pigeon_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim/corefuzz"
)

func FuzzMaster(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(false, byte(20), data); f.Add(true, byte(255), data) })
	plausible := []sched.Message{
		{Kind: sched.WorkerUp, Peer: worker(1), Node: "n", Serves: []string{"a"}},
		{Kind: sched.WorkerUp, Peer: worker(2), Node: "n", Serves: []string{"a", "b"}},
		{Kind: sched.Tasks, Job: jobOne, Count: 5, Attempt: 1, App: "a", Distributor: distributor},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Count: 3, Attempt: 1, App: "b", Distributor: distributor, Class: sched.Long},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 3}, Count: 4, Attempt: 1, App: "a", Distributor: distributor, Marks: sched.Undeclared},
		{Kind: sched.WorkerLost, Peer: worker(1)}, {Kind: sched.Drop, Job: jobOne}, {Kind: sched.Timeout}, {Kind: sched.Timeout, Token: 2},
	}
	plausible = append(plausible, ofOwners("a")...)
	f.Fuzz(func(t *testing.T, recovers bool, share byte, data []byte) {
		cfg := sched.MasterConfig{Recover: recovers, MaxTasks: 50, Params: sched.Params{Weight: 3, Reserved: float64(share) / 200}}
		corefuzz.Drive(t, pigeon.NewMaster(cfg), data, 1, plausible...)
	})
}

// ofOwners are messages about owners and their shares.
func ofOwners(app string) []sched.Message {
	return []sched.Message{
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 4}, Count: 4, Attempt: 1, App: app, Distributor: distributor, Owner: "u/v", Estimate: 3},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 5}, Count: 4, Attempt: 1, App: app, Distributor: distributor, Owner: "u", Priority: 2},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 6}, Count: 4, Attempt: 1, App: app, Distributor: distributor, Owner: "x", Class: sched.Long},
		{Kind: sched.SetShares, More: &sched.More{Shares: []sched.Share{{Owner: "u", Weight: 1, Max: 0.5}, {Owner: "x", Weight: 2, Min: 0.5}}}},
		{Kind: sched.SetShares, More: &sched.More{Shares: []sched.Share{{Owner: "u/v", Weight: 1, Max: 0.1}}, HalfLife: sched.Second}},
		{Kind: sched.SetShares, More: &sched.More{}},
	}
}

func FuzzDistributor(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{
		{Kind: sched.MasterUp, Peer: group(1), Serves: []string{"a"}}, {Kind: sched.MasterUp, Peer: group(2), Serves: []string{"a", "b"}},
		{Kind: sched.Submit, Job: jobOne, Count: 5, App: "a", Retries: 1}, {Kind: sched.Submit, Job: sched.JobID{Lo: 2}, Count: 3, App: "b"},
		{Kind: sched.Submit, Job: sched.JobID{Lo: 3}, Count: 3, App: "b", Resent: true}, {Kind: sched.Restored},
		{Kind: sched.MasterLost, Peer: group(1)}, {Kind: sched.Timeout}, {Kind: sched.Cancel, Job: jobOne},
		{Kind: sched.Returned, Job: jobOne, Count: 1, Attempt: 1, Peer: group(2)}, {Kind: sched.Reclass, Job: jobOne, Class: sched.Long},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		corefuzz.Drive(t, pigeon.NewDistributorWith(sched.DistributorConfig{Self: distributor}, pigeon.XOptions()), data, 1, plausible...)
	})
}

func FuzzWorker(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(data) })
	plausible := []sched.Message{*launch(0, 0, 1, sched.Short), *launch(1, 0, 2, sched.Long), *ended(0, sched.Done), *setReserved(true, 1, 1),
		{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Kept: []sched.AttemptID{launch(0, 0, 1, sched.Short).AttemptID()}},
		{Kind: sched.Yield, Job: jobTwo, Attempt: 1}, {Kind: sched.Continue, Job: jobOne, Attempt: 1},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		corefuzz.Drive(t, pigeon.NewWorkerWith(sched.WorkerConfig{}, pigeon.XOptions()), data, 1, plausible...)
	})
}
