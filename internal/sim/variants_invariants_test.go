package sim_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// monitor counts starts, suspensions and moves, and records the first violation.
type monitor struct {
	started   map[[2]int]int
	held      map[sched.Addr]int
	moved     map[[2]uint64]int // by job and task
	stopped   map[sched.JobID]int
	turns     map[sched.JobID]int
	suspended int
	fault     error
}

func (w *monitor) Event(_ sched.Time, job int, task, _ int32, what string, where sched.Addr) {
	switch what {
	case "started":
		w.started[[2]int{job, int(task)}]++
	case "suspended":
		w.suspended++
		w.held[where]++
	case "resumed":
		w.held[where]--
	}
	if n := w.held[where]; n < 0 || n > 1 {
		w.note(fmt.Errorf("%s holds %d suspended tasks", where, n))
	}
}

func (w *monitor) note(err error) {
	if w.fault == nil {
		w.fault = err
	}
}

// monitored is a master whose moves and invariants are checked.
type monitored struct {
	*pigeon.Master
	by *monitor
}

func (m monitored) Step(now sched.Time, from sched.Addr, msg *sched.Message, out *sched.Actions) {
	m.Master.Step(now, from, msg, out)
	for i := range out.List() {
		m.by.sent(&out.List()[i].Msg)
	}
	if err := m.Valid(); err != nil {
		m.by.note(fmt.Errorf("after %s: %w", sched.Describe(msg), err))
	}
}

// sent is called for each message of a master.
func (w *monitor) sent(m *sched.Message) {
	switch {
	case m.Kind == sched.Returned && m.Peer.Role == sched.Master:
		id := [2]uint64{m.Job.Lo, uint64(m.First)}
		if w.moved[id]++; w.moved[id] > 1 {
			w.note(fmt.Errorf("moved twice: %s", sched.Describe(m)))
		}
	case m.Kind == sched.Yield:
		if w.stopped[m.Job]++; w.stopped[m.Job] > 1 || m.First != 0 {
			w.note(fmt.Errorf("stopped to start anew: %s, of %d in all", sched.Describe(m), w.stopped[m.Job]))
		}
	case m.Kind == sched.Reclass && m.Class == sched.Short:
		if w.turns[m.Job]++; w.turns[m.Job] > 1 {
			w.note(fmt.Errorf("promoted twice: %s", sched.Describe(m)))
		}
	}
}

// drawWorkload draws a workload for few workers, in which classes are often wrong.
func drawWorkload(t *rapid.T) *workload.Workload {
	w := &workload.Workload{Name: "drawn"}
	at := int64(0)
	for line := range rapid.IntRange(1, 60).Draw(t, "jobs") {
		j := workload.Job{Line: line + 1, Arrival: at, DeclaredLong: rapid.Bool().Draw(t, "long")}
		for range rapid.IntRange(1, 6).Draw(t, "tasks") {
			j.Durations = append(j.Durations, rapid.Int64Range(0, int64(4*sched.Second)).Draw(t, "duration"))
		}
		j.Estimate = j.Work() / int64(len(j.Durations))
		j.TrueLong = j.Estimate > int64(sched.Second)
		w.Jobs = append(w.Jobs, j)
		at += rapid.Int64Range(0, int64(2*sched.Second)).Draw(t, "gap")
	}
	return w
}

// jobOf returns the id of a job in the simulator.
func jobOf(w *workload.Workload, index int) sched.JobID {
	line := w.Jobs[index].Line
	return sched.NewJobID(sched.JobScope(fmt.Sprintf("frontend-%d", line%2)), fmt.Sprint(line))
}

// All jobs complete. Each task runs once, except a stopped canary, of which a job has at
// most one; a worker holds at most one suspended task, a task moves at most once, a job is
// promoted at most once, and the masters' invariants hold after each step.
func TestVariantsKeepTheirInvariants(t *testing.T) {
	moved, suspended, stopped, turns := 0, 0, 0, 0
	check := func(t *rapid.T) {
		spec := rapid.SampledFrom([]string{
			"pigeon-sort", "pigeon-sort:guard=yes,aging=0", "pigeon-sort:weight=2", "pigeon-x", "pigeon-x:aging=3,guard=yes", "pigeon-x:patience=300ms", "pigeon-x:canary=no", "pigeon-x:tail=no",
		}).Draw(t, "policy")
		p, params, err := policy.Configure(spec, sched.Params{Cutoff: sched.Second, Reserved: 0.3})
		if err != nil {
			t.Fatal(err)
		}
		by := &monitor{started: map[[2]int]int{}, held: map[sched.Addr]int{}, moved: map[[2]uint64]int{}, stopped: map[sched.JobID]int{}, turns: map[sched.JobID]int{}}
		master := p.NewMaster
		p.NewMaster = func(c sched.MasterConfig) sched.MasterCore { return monitored{master(c).(*pigeon.Master), by} }
		w := drawWorkload(t)
		o, err := sim.Run(context.Background(), w.Simulated(), sim.Config{
			Policy: p, Params: params, Groups: rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "groups"), Frontends: 2,
			Delay: sched.Time(rapid.Int64Range(0, int64(sched.Second)).Draw(t, "delay")), Observer: by,
		})
		if err != nil || by.fault != nil {
			t.Fatalf("%s: %v, %v", spec, err, by.fault)
		}
		if o.Completed != len(w.Jobs) || len(by.started) != w.Tasks() {
			t.Fatalf("%s: %d of %d jobs completed, %d of %d tasks started", spec, o.Completed, len(w.Jobs), len(by.started), w.Tasks())
		}
		for task, starts := range by.started {
			if again := by.stopped[jobOf(w, task[0])]; starts > 1+again || (starts > 1 && task[1] > 0) {
				t.Fatalf("%s: task %d of job %d started %d times", spec, task[1], task[0], starts)
			}
		}
		moved += len(by.moved)
		suspended += by.suspended
		stopped += len(by.stopped)
		turns += len(by.turns)
	}
	for range 10 { // with -short, rapid draws 20 cases each time: too few for every event to occur
		rapid.Check(t, check)
	}
	if moved == 0 || suspended == 0 || stopped == 0 || turns == 0 {
		t.Errorf("%d moves, %d suspensions, %d canaries stopped, %d jobs promoted: too little for this test", moved, suspended, stopped, turns)
	}
}
