package pigeon_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim/corefuzz"
)

// A master with options survives any message, too.
func FuzzVariants(f *testing.F) {
	corefuzz.Seeds(func(data []byte) { f.Add(false, data); f.Add(true, data) })
	const can = sched.Stoppable | sched.Restartable
	plausible := []sched.Message{
		{Kind: sched.WorkerUp, Peer: worker(1), Node: "n", Serves: []string{"a"}},
		{Kind: sched.WorkerUp, Peer: worker(2), Node: "n", Serves: []string{"a", "b"}},
		{Kind: sched.Tasks, Job: jobOne, Count: 5, Attempt: 1, App: "a", Distributor: distributor, Class: sched.Long, Estimate: 90, Total: 9, Arrival: 1, Marks: can | sched.Canary},
		{Kind: sched.Tasks, Job: jobTwo, Count: 3, Attempt: 1, App: "b", Distributor: distributor, Estimate: 5},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 4}, Count: 9, Attempt: 1, App: "a", Distributor: distributor, Total: 9, Arrival: 1, Marks: can | sched.Undeclared},
		{Kind: sched.Tasks, Job: sched.JobID{Lo: 3}, Count: 1, Attempt: 1, App: "b", Distributor: distributor, Marks: sched.Moved},
		{Kind: sched.WorkerUp, Peer: worker(1), Job: sched.JobID{Lo: 9}, Attempt: 2, App: "a", Distributor: distributor, Class: sched.Long},
		{Kind: sched.Reclass, Job: jobOne}, {Kind: sched.Timeout, Token: 2}, {Kind: sched.MasterUp, Peer: group(1)}, {Kind: sched.MasterUp, Peer: group(2)}, {Kind: sched.MasterLost, Peer: group(2)},
		{Kind: sched.Spare, Serves: []string{"a", "b"}}, {Kind: sched.Spare, Serves: []string{"a"}, Reserved: true},
		{Kind: sched.WorkerLost, Peer: worker(1)}, {Kind: sched.Drop, Job: jobOne}, {Kind: sched.Timeout, Token: 1},
	}
	plausible = append(plausible, ofOwners("b")...)
	f.Fuzz(func(t *testing.T, patient bool, data []byte) {
		o := pigeon.XOptions()
		o.Guard, o.Tail = patient, !patient
		if patient {
			o.Patience = 3
		}
		cfg := sched.MasterConfig{MaxTasks: 50, Params: sched.Params{Cutoff: 10}}
		corefuzz.Drive(t, pigeon.NewMasterWith(cfg, o), data, 1, plausible...)
	})
}
