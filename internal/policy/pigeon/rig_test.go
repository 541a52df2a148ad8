package pigeon_test

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// rig is a master with workers that obey at once: a launched task runs until the
// test ends it.
type rig struct {
	t      tester
	master *pigeon.Master
	now    sched.Time
	seq    map[int32]uint64
	out    sched.Actions
	nodes  int
}

// slots are workers of one kind; without names they serve the built-in backends.
type slots struct {
	count    int
	reserved bool
	serves   []string
}

func general(n int, serves ...string) slots  { return slots{n, false, serves} }
func reserved(n int, serves ...string) slots { return slots{n, true, serves} }

// newRig registers the given slots in order; worker ids count from 0.
func newRig(t tester, weight int, groups ...slots) *rig {
	r := &rig{
		t: t, seq: map[int32]uint64{},
		master: pigeon.NewMaster(sched.MasterConfig{Params: sched.Params{Weight: weight}}),
	}
	for _, g := range groups {
		for range g.count {
			r.up(g)
		}
	}
	return r
}

func (r *rig) up(g slots) {
	if g.serves == nil {
		g.serves = []string{""}
	}
	r.step(sched.Addr{}, &sched.Message{
		Kind: sched.WorkerUp, Peer: worker(int32(r.nodes)), Node: fmt.Sprintf("n%03d", r.nodes), Serves: g.serves, Fixed: true, Reserved: g.reserved,
	})
	r.nodes++
}

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

var distributor = sched.Addr{Role: sched.Distributor, ID: 0}

// step sends the master a message and describes what it launches and sends
// otherwise.
func (r *rig) step(from sched.Addr, m *sched.Message) []sched.Action {
	r.t.Helper()
	r.now++
	r.out.Reset()
	r.master.Step(r.now, from, m, &r.out)
	if err := r.master.Valid(); err != nil {
		r.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	return r.out.List()
}

// launches names the launches among actions: worker:job/task.
func launches(actions []sched.Action) []string {
	list := []string{}
	for _, a := range actions {
		if a.Msg.Kind == sched.Launch {
			list = append(list, fmt.Sprintf("%d:%d/%d", a.To.ID, a.Msg.Job.Lo, a.Msg.First))
		}
	}
	return list
}

// tasks sends count tasks of a job and returns the tasks that were launched.
func (r *rig) tasks(job uint64, class sched.Class, count int32) []string {
	r.t.Helper()
	return r.tasksOf("", job, class, count)
}

func (r *rig) tasksOf(app string, job uint64, class sched.Class, count int32) []string {
	r.t.Helper()
	return launches(r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: job}, Class: class, Count: count, Attempt: 1, Distributor: distributor, App: app,
	}))
}

// ends frees a worker and returns the tasks that were launched.
func (r *rig) ends(id int32) []string {
	r.t.Helper()
	r.seq[id] += 2
	return launches(r.step(worker(id), &sched.Message{Kind: sched.Idle, Seq: r.seq[id]}))
}
