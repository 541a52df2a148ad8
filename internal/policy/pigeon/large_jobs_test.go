package pigeon

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// stepped drives a master whose state it checks.
type stepped struct {
	t    *testing.T
	core *Master
	now  sched.Time
	out  sched.Actions
}

func newStepped(t *testing.T, workers int32) *stepped {
	s := &stepped{t: t, core: NewMasterWith(sched.MasterConfig{Params: sched.Params{Cutoff: sched.Second}}, XOptions())}
	for i := range workers {
		s.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker, ID: i}, Node: "n", Serves: []string{""}})
	}
	return s
}

func (s *stepped) step(from sched.Addr, m *sched.Message) []sched.Action {
	s.t.Helper()
	s.now++
	s.out.Reset()
	s.core.Step(s.now, from, m, &s.out)
	if err := s.core.Valid(); err != nil {
		s.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	return s.out.List()
}

func (s *stepped) tasks(n uint64, m sched.Message) []sched.Action {
	s.t.Helper()
	m.Kind, m.Job, m.Attempt = sched.Tasks, sched.JobID{Lo: n}, 1
	m.Distributor = sched.Addr{Role: sched.Distributor}
	return s.step(m.Distributor, &m)
}

// TestLargestUndeclaredJob: an undeclared job may have as many tasks as any other, of which all but a
// window wait as long ones. While its window grows they stay in few runs: each step looks at all
// runs of a job.
func TestLargestUndeclaredJob(t *testing.T) {
	s := newStepped(t, 1)
	list := s.tasks(1, sched.Message{Count: sched.MaxTasks, Marks: sched.Undeclared | sched.Stoppable})
	for task := range int32(20) {
		launched := list[len(list)-1].Msg
		if launched.Kind != sched.Launch || launched.First != task {
			t.Fatalf("task %d: %s", task, sched.Describe(&launched))
		}
		list = s.step(sched.Addr{Role: sched.Worker}, &sched.Message{Kind: sched.Idle, Seq: uint64(2*task) + 2, Job: launched.Job, First: task, Attempt: 1})
	}
	j, runs := s.core.jobs[sched.JobID{Lo: 1}], 0
	j.EachRun(func(*queue.Run) { runs++ })
	if short := j.QueuedAs(sched.Short); short != sched.MaxTasks-21 || runs > 30 {
		t.Errorf("%d tasks wait as short ones, in %d runs", short, runs)
	}
}

// TestCanaryAtARestart: a node reports the class of a launch, which for a canary is short; that its job
// is long is no evidence of a wrong declaration.
func TestCanaryAtARestart(t *testing.T) {
	s := newStepped(t, 0)
	d := sched.Addr{Role: sched.Distributor}
	s.step(sched.Addr{}, &sched.Message{
		Kind: sched.WorkerUp, Peer: sched.Addr{Role: sched.Worker}, Node: "n", Serves: []string{""}, Seq: 5,
		Job: sched.JobID{Lo: 1}, Attempt: 1, Class: sched.Short, Distributor: d, Estimate: 100 * sched.Second,
	})
	s.tasks(9, sched.Message{Count: 1, Marks: sched.Undeclared}) // jobs come undeclared
	s.tasks(1, sched.Message{First: 1, Count: 3, Total: 4, Arrival: 1, Class: sched.Long, Marks: sched.Stoppable, Estimate: 100 * sched.Second})
	j := s.core.jobs[sched.JobID{Lo: 1}]
	if e := s.core.hooks.(*extension); j.Class != sched.Long || undeclared(j) || estimate(j, e.facts, sched.Second) != 100*sched.Second {
		t.Errorf("class %v, undeclared %v, estimate %v", j.Class, undeclared(j), estimate(j, e.facts, sched.Second))
	}
}

// TestCanaryOfAnOwnerAboveItsPart: a canary of an owner that runs more than its part suspends nothing,
// also not when another task runs past the cutoff.
func TestCanaryOfAnOwnerAboveItsPart(t *testing.T) {
	s := newStepped(t, 3)
	const estimate = 100 * sched.Second
	s.tasks(1, sched.Message{Count: 2, Class: sched.Long, Owner: "a", Estimate: estimate})
	s.tasks(2, sched.Message{Count: 1, Class: sched.Short, Owner: "b", Marks: sched.Stoppable})
	s.tasks(3, sched.Message{Count: 1, Class: sched.Long, Owner: "a", Estimate: estimate, Marks: sched.Stoppable | sched.Canary})
	s.now += 2 * sched.Second
	for _, a := range s.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: cutoffOver}) {
		if a.Msg.Kind == sched.Preempt {
			t.Errorf("%s", sched.Describe(&a.Msg))
		}
	}
}

// TestHeldJobsAreForgotten: jobs that are cancelled while no group serves them leave nothing.
func TestHeldJobsAreForgotten(t *testing.T) {
	d := NewDistributor(sched.DistributorConfig{Self: sched.Addr{Role: sched.Distributor}})
	var out sched.Actions
	for i := range uint64(10 * heldAtLeast) {
		out.Reset()
		id := sched.JobID{Lo: i + 1}
		d.Step(1, sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: id, Key: i, App: "nobody", Count: 1}, &out)
		if i%100 != 0 {
			d.Step(1, sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: id}, &out)
		}
	}
	if jobs := d.led.Jobs(); jobs != 10 || len(d.held) > 2*jobs+heldAtLeast || d.held[0] != (sched.JobID{Lo: 1}) {
		t.Errorf("%d jobs, %d are held, the first %v", jobs, len(d.held), d.held[0])
	}
}
