package policy_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

// Every master core shows its group alike: four workers, a long job of six tasks of
// which four find a worker, or are queued at one.
func TestEveryMasterShowsItsGroup(t *testing.T) {
	job, distributor := sched.JobID{Lo: 9}, sched.Addr{Role: sched.Distributor}
	for spec, want := range map[string]struct {
		queued, running, reserved int
		waits                     sched.Class // the queue that the rest waits in
		oldest                    sched.Time
		idle                      [sched.NumWorkerKinds]int
		tasks                     int // at a worker
	}{
		"pigeon:reserved=0.25":     {3, 3, 1, sched.Long, sched.Second, [2]int{0, 1}, 1},
		"pigeon-sort:reserved=0":   {2, 4, 0, sched.Long, sched.Second, [2]int{}, 1},
		"pigeon-x":                 {2, 4, 0, sched.Long, sched.Second, [2]int{}, 1},
		"fifo":                     {2, 4, 0, sched.Short, sched.Second, [2]int{}, 1},
		"priority:reserved=0.25":   {3, 3, 1, sched.Long, sched.Second, [2]int{0, 1}, 1},
		"kairos:q=1":               {0, 6, 0, sched.Short, sched.Unknown, [2]int{}, 2},
		"hawk:reserved=0.25":       {6, 0, 1, sched.Long, sched.Unknown, [2]int{-1, -1}, sched.Unknown},
		"eagle:reserved=0.25":      {6, 0, 1, sched.Long, sched.Unknown, [2]int{-1, -1}, sched.Unknown},
		"eagle:reserved=0,slack=1": {6, 0, 0, sched.Long, sched.Unknown, [2]int{-1, -1}, sched.Unknown},
	} {
		p, params, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second})
		if err != nil {
			t.Fatal(err)
		}
		m := p.NewMaster(sched.MasterConfig{Self: sched.Addr{Role: sched.Master}, Seed: 1, Params: params})
		var out sched.Actions
		for id := range int32(4) {
			m.Step(0, sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(id), Node: string('a' + id), Serves: []string{""}}, &out)
		}
		m.Step(sched.Second, distributor, &sched.Message{Kind: sched.Tasks, Job: job, Distributor: distributor, Class: sched.Long, Count: 6, Attempt: 1, Estimate: sched.Second}, &out)

		got := m.Totals()
		if got.Workers != [2]int{4 - want.reserved, want.reserved} || got.Idle != want.idle || got.Queued[want.waits] != want.queued ||
			got.Queued[1-want.waits] != 0 || got.Oldest[want.waits] != want.oldest || got.Oldest[1-want.waits] != sched.Unknown {
			t.Errorf("%s: %+v", spec, got)
		}
		if n := int(got.Launches); n != want.running && n != 6 {
			t.Errorf("%s: %d launches", spec, n)
		}
		workers, idle := m.Serving("")
		if others, _ := m.Serving("other"); workers != 4 || others != 0 || idle != want.idle {
			t.Errorf("%s: %d workers serve, and %d another application; %v are idle", spec, workers, others, idle)
		}
		if s := m.Serves(); len(s) != 1 || s[0] != "" {
			t.Errorf("%s: serves %q", spec, s)
		}
		j := m.Share(job, 2)
		if j.Queued != want.queued || j.Running != want.running || len(j.Tasks) != min(2, want.running) {
			t.Errorf("%s: %+v", spec, j)
		}
		if unknown := m.Share(sched.JobID{Lo: 1}, 2); unknown.Queued+unknown.Running+len(unknown.Tasks) != 0 {
			t.Errorf("%s: of an unknown job %+v", spec, unknown)
		}
		running := 0
		for id, of := range m.Running() {
			if running++; id != job || of != distributor {
				t.Errorf("%s: job %s of distributor %+v runs", spec, id, of)
			}
		}
		if running != want.running {
			t.Errorf("%s: %d tasks are yielded as running", spec, running)
		}
		for range m.Running() {
			break // the cores end early
		}
		reserved := 0
		for id := range int32(4) {
			v := m.WorkerView(worker(id))
			if v.Reserved {
				reserved++
			}
			if !v.Reserved && v.Tasks != want.tasks && (want.tasks != 2 || v.Tasks != 1) {
				t.Errorf("%s: worker %d: %+v", spec, id, v)
			}
		}
		if reserved != want.reserved {
			t.Errorf("%s: %d workers are shown as reserved", spec, reserved)
		}
		m.WorkerView(worker(99))
		m.Step(2*sched.Second, sched.Addr{}, &sched.Message{Kind: sched.WorkerLost, Peer: worker(3)}, &out)
		if after := m.Totals(); after.Workers[0]+after.Workers[1] != 3 || (want.running > 0 && after.Lost == 0) {
			t.Errorf("%s: after a loss %+v", spec, after)
		}
	}
}
