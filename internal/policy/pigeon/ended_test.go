package pigeon

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/ended"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A node that dies takes with it the results that were not acknowledged yet,
// however many its slots ended in that time: each is reported as lost.
func TestALostNodeLosesAllThatEndedThereAShortWhileAgo(t *testing.T) {
	m := NewMaster(sched.MasterConfig{Self: sched.Addr{Role: sched.Master}})
	worker, distributor := sched.Addr{Role: sched.Worker, ID: 1}, sched.Addr{Role: sched.Distributor, ID: 1}
	var out sched.Actions
	step := func(now sched.Time, from sched.Addr, msg sched.Message) int {
		out.Reset()
		m.Step(now, from, &msg, &out)
		lost := 0
		for _, a := range out.List() {
			if a.Kind == sched.Send && a.Msg.Kind == sched.AttemptLost && a.To == distributor {
				lost++
			}
		}
		return lost
	}
	const early, late = 10, 100
	step(0, sched.Addr{}, sched.Message{Kind: sched.WorkerUp, Peer: worker, Node: "n", Serves: []string{""}})
	job := sched.JobID{Lo: 1}
	step(0, distributor, sched.Message{Kind: sched.Tasks, Job: job, Distributor: distributor, Count: early + late, Attempt: 1})
	for i := range early + late {
		at := sched.Time(0)
		if i >= early {
			at = ended.Keep + 1 // the first have long been acknowledged by then
		}
		step(at, worker, sched.Message{Kind: sched.Idle, Seq: uint64(2 * (i + 1))})
	}
	if got := step(ended.Keep+2, sched.Addr{}, sched.Message{Kind: sched.WorkerLost, Peer: worker, Reason: "the node died"}); got != late {
		t.Errorf("%d attempts were reported as lost, want the %d that ended a short while ago", got, late)
	}
}
