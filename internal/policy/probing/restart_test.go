package probing_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// restarted is a distributor that has read a job of four tasks from its journal, in its
// second life.
func restarted(t tester, workers int) *frontend {
	cfg := sched.DistributorConfig{Self: self, Seed: 1, Params: sched.Params{Cutoff: sched.Second}, FirstAttempt: sched.AttemptsPerLife + 1}
	f := &frontend{t: t, core: probing.NewDistributor(cfg, probing.Options{Ratio: 2})}
	f.step(sched.Addr{}, members(upTo(workers)...))
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: one, Count: 4, Resent: true})
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Restored})
	return f
}

// records returns the new attempts that were journaled.
func records(actions []sched.Action) (list []sched.Action) {
	for _, a := range actions {
		if a.Kind == sched.Persist && a.Msg.Kind == sched.NewAttempt {
			list = append(list, a)
		}
	}
	return list
}

func held(tasks ...int32) *sched.Message {
	m := &sched.Message{Kind: sched.Held}
	for _, task := range tasks {
		m.Kept = append(m.Kept, sched.AttemptID{Job: one, Task: task, Attempt: 1})
	}
	return m
}

// Tasks that workers report stay with them; the rest get numbers of this life, with one
// record for each range, and are probed for. A worker that asks before gets nothing.
func TestAdoption(t *testing.T) {
	f := restarted(t, 4)
	f.step(worker(2), held(1))
	f.step(worker(9), held(0)) // it is not a member: its report binds nothing yet
	if m := f.ask(0); m.Kind != sched.NoTask {
		t.Fatalf("answered %s", sched.Describe(&m))
	}
	got := f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: f.timer})
	if r := records(got); len(r) != 1 || r[0].Msg.First != 2 || r[0].Msg.Count != 2 || r[0].Msg.Attempt != sched.AttemptsPerLife+1 {
		t.Fatalf("recorded %v", r)
	}
	if n := len(of(sched.Probe, got)); n != 4 {
		t.Errorf("%d probes for two tasks", n)
	}
	if m := f.ask(0); m.First != 2 || m.Attempt != sched.AttemptsPerLife+1 {
		t.Errorf("launched %s", sched.Describe(&m))
	}
	if v, _ := f.core.JobView(one, 9); len(v.Tasks) != 2 || v.Tasks[0].Worker != worker(2) || v.Tasks[0].Task != 1 || v.Tasks[0].Attempt != 1 {
		t.Errorf("bound are %+v", v.Tasks)
	}
	lost := f.step(sched.Addr{}, members(0, 1, 3))
	if r := records(lost); len(r) != 1 || r[0].Msg.First != 1 || r[0].Msg.Losses != 1 {
		t.Errorf("the loss of the worker caused %v", lost)
	}
	// No worker has reported task 0 again.
	got = f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: f.timer})
	if r := records(got); len(r) != 1 || r[0].Msg.First != 0 {
		t.Errorf("recorded %v", got)
	}
	if again := f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: f.timer}); len(again) != 0 {
		t.Errorf("a timer that comes twice did %v", again)
	}
}

// A result ends a task that no worker has reported; also one that has another attempt
// by now.
func TestResultsBeforeReports(t *testing.T) {
	f := restarted(t, 4)
	f.step(worker(1), &sched.Message{Kind: sched.Report, Job: one, First: 3, Attempt: 1, Outcome: sched.Done})
	f.step(worker(1), &sched.Message{Kind: sched.Report, Job: one, First: 2, Attempt: 1, Outcome: sched.Yielded})
	if m := f.ask(0); m.First != 2 || m.Attempt != sched.AttemptsPerLife+1 {
		t.Errorf("launched %s", sched.Describe(&m))
	}
	got := f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: f.timer})
	if r := records(got); len(r) != 1 || r[0].Msg.First != 0 || r[0].Msg.Count != 2 {
		t.Errorf("recorded %v", r)
	}
}

// Without workers there are no reports: the wait begins with the first that are known.
func TestWaitForTheFirstMembers(t *testing.T) {
	f := restarted(t, 0)
	if f.timer != 0 {
		t.Fatal("the wait began without workers")
	}
	f.step(sched.Addr{}, members(0, 1))
	got := f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: f.timer})
	if r := records(got); f.timer == 0 || len(r) != 1 || r[0].Msg.Count != 4 {
		t.Errorf("did %v", got)
	}
}
