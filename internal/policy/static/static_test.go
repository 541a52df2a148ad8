package static

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// rig is a master with workers that never end a task.
type rig struct {
	m       *Master
	out     sched.Actions
	running map[string]int
	jobs    int
}

func newRig(t *testing.T, workers, owners int) *rig {
	t.Helper()
	r := &rig{m: NewMaster(sched.MasterConfig{Self: sched.Addr{Role: sched.Master}, Params: sched.Params{Cutoff: sched.Second, Reserved: 0.5}}, Options{Owners: owners}), running: map[string]int{}}
	for i := range workers {
		r.step(t, &sched.Message{Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: int32(i)}, Node: "n", Serves: []string{""}}) //nolint:gosec // few
	}
	return r
}

func (r *rig) step(t *testing.T, m *sched.Message) {
	t.Helper()
	r.out.Reset()
	r.m.Step(0, sched.Addr{}, m, &r.out)
	for _, a := range r.out.List() {
		if a.Kind == sched.Send && a.Msg.Kind == sched.Launch {
			r.running[a.Msg.Owner]++
		}
	}
	if err := r.m.Valid(); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) submit(t *testing.T, owner string, tasks int32, class sched.Class) {
	t.Helper()
	r.jobs++
	r.step(t, &sched.Message{
		Kind: sched.Tasks, Job: sched.NewJobID("test", fmt.Sprint(r.jobs)), Owner: owner, Class: class, Count: tasks, Total: tasks, Attempt: 1, Serves: []string{""},
		Distributor: sched.Addr{Role: sched.Distributor},
	})
}

func (r *rig) want(t *testing.T, want map[string]int) {
	t.Helper()
	for owner, n := range want {
		if r.running[owner] != n {
			t.Errorf("%s runs %d tasks, want %d", owner, r.running[owner], n)
		}
	}
}

// Four partitions of twelve workers: no owner runs more than three tasks, of whatever class,
// even while all other workers are idle.
func TestNobodyPassesItsPartition(t *testing.T) {
	r := newRig(t, 12, 4)
	r.submit(t, "a", 10, sched.Short)
	r.submit(t, "b", 10, sched.Long)
	r.submit(t, "c", 2, sched.Long)
	r.submit(t, "c", 5, sched.Short)
	r.want(t, map[string]int{"a": 3, "b": 3, "c": 3})
	r.submit(t, "", 9, sched.Short) // no owner
	r.want(t, map[string]int{"": 3})
}

// docs/policies.md, static: "its owner never runs more tasks than that": also where only an owner
// below a team has a share. The team has a partition of weight 1 then, as one without a share.
func TestShareBelowATeamWithoutOne(t *testing.T) {
	r := newRig(t, 12, 4)
	r.step(t, &sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: []sched.Share{{Owner: "team/x", Weight: 2}}}})
	r.submit(t, "team/x", 12, sched.Short)
	r.submit(t, "team/y", 12, sched.Short)
	r.submit(t, "z", 12, sched.Long)
	r.want(t, map[string]int{"team/x": 3, "team/y": 0, "z": 3})
}

// Weights 1 : 2 and one partition for others, of twelve workers: 3, 6 and 3. The members of a
// team share its partition.
func TestPartitionsByWeight(t *testing.T) {
	r := newRig(t, 12, 3)
	r.step(t, &sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: []sched.Share{{Owner: "a", Weight: 1}, {Owner: "team", Weight: 2, Min: 1}}}})
	r.submit(t, "a", 10, sched.Short)
	r.submit(t, "z", 10, sched.Short)
	r.want(t, map[string]int{"a": 3, "z": 3}) // although the workers of the team are idle
	r.submit(t, "team/x", 4, sched.Short)
	r.submit(t, "team/y", 4, sched.Short)
	if n := r.running["team/x"] + r.running["team/y"]; n != 6 {
		t.Errorf("the team runs %d tasks, want 6", n)
	}
}
