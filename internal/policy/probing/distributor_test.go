package probing_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

var (
	self = sched.Addr{Role: sched.Distributor, ID: 7}
	one  = sched.JobID{Lo: 1}
)

func worker(id int32) sched.Addr { return sched.Addr{Role: sched.Worker, ID: id} }

// members lists workers by their numbers.
func members(ids ...int32) *sched.Message {
	m := &sched.Message{Kind: sched.Members, More: &sched.More{}}
	for _, id := range ids {
		m.More.Members = append(m.More.Members, sched.Member{Worker: worker(id)})
	}
	return m
}

func upTo(n int) (ids []int32) {
	for i := range n {
		ids = append(ids, int32(i))
	}
	return ids
}

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

type frontend struct {
	t     tester
	core  *probing.Distributor
	out   sched.Actions
	now   sched.Time
	timer uint64 // token of the last timer
}

func newFrontend(t tester, o probing.Options, workers int) *frontend {
	cfg := sched.DistributorConfig{Self: self, Seed: 1, Params: sched.Params{Cutoff: sched.Second}}
	f := &frontend{t: t, core: probing.NewDistributor(cfg, o)}
	if workers > 0 {
		f.step(sched.Addr{}, members(upTo(workers)...))
	}
	return f
}

func (f *frontend) step(from sched.Addr, m *sched.Message) []sched.Action {
	f.t.Helper()
	f.out.Reset()
	f.core.Step(f.now, from, m, &f.out)
	if err := f.core.Valid(); err != nil {
		f.t.Fatalf("after %s: %v", sched.Describe(m), err)
	}
	for _, a := range f.out.List() {
		if a.Kind == sched.Timer {
			f.timer = a.Token
		}
	}
	return slices.Clone(f.out.List())
}

func (f *frontend) submit(tasks int32) []sched.Action {
	f.t.Helper()
	return f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: one, Key: 3, Count: tasks, Retries: 2})
}

// ask requests a task and returns the answer.
func (f *frontend) ask(from int32) sched.Message {
	f.t.Helper()
	got := f.step(worker(from), &sched.Message{Kind: sched.GetTask, Job: one, Seq: 9})
	if len(got) == 0 || got[0].To != worker(from) || got[0].Msg.Seq != 9 {
		f.t.Fatalf("answered %v", got)
	}
	return got[0].Msg
}

// of returns the actions that send a message of the kind.
func of(kind sched.Kind, actions []sched.Action) (list []sched.Action) {
	for _, a := range actions {
		if a.Kind == sched.Send && a.Msg.Kind == kind {
			list = append(list, a)
		}
	}
	return list
}

// docs/policies.md, hawk: "the reserved partition is the first round(share x workers)".
func TestReserved(t *testing.T) {
	for _, c := range []struct {
		share         float64
		workers, want int
	}{{0.1, 120, 12}, {0.02, 30, 1}, {0.02, 20, 0}, {0.25, 10, 3}, {0.24, 10, 2}, {0.29, 10, 3}, {0, 10, 0}, {1, 10, 10}} {
		if got := probing.Reserved(c.share, c.workers); got != c.want {
			t.Errorf("of %d workers %d are reserved at a share of %v, want %d", c.workers, got, c.share, c.want)
		}
	}
}

// docs/policies.md, sparrow: "p = ceil(dF) reservations to distinct random workers",
// "whole rounds over all of them come first".
func TestProbesAreSpreadEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, tasks := rapid.IntRange(1, 20).Draw(t, "workers"), rapid.Int32Range(1, 60).Draw(t, "tasks")
		tenths := rapid.IntRange(10, 60).Draw(t, "tenths of the ratio")
		f := newFrontend(t, probing.Options{Ratio: float64(tenths) / 10}, n)
		probes := of(sched.Probe, f.submit(tasks))
		want := (tenths*int(tasks) + 9) / 10
		if len(probes) != want {
			t.Fatalf("%d probes for %d tasks, want %d", len(probes), tasks, want)
		}
		at := make([]int, n)
		for i, p := range probes {
			at[p.To.ID]++
			if round := i / n; at[p.To.ID] != round+1 {
				t.Fatalf("probe %d is the %d. at worker %d", i, at[p.To.ID], p.To.ID)
			}
			if m := p.Msg; m.Job != one || m.Distributor != self || m.Count != tasks || m.Attempt != 1 || m.Estimate != sched.Second {
				t.Fatalf("sent %s", sched.Describe(&m))
			}
		}
	})
}

// The draws of a job depend on the seed and its key alone, not on what was drawn
// before.
func TestDrawsAreKeyed(t *testing.T) {
	targets := func(before int) (ids []int32) {
		f := newFrontend(t, probing.Options{Ratio: 2}, 50)
		for k := range before {
			f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: uint64(k + 100)}, Key: uint64(k), Count: 7})
		}
		for _, p := range of(sched.Probe, f.submit(10)) {
			ids = append(ids, p.To.ID)
		}
		return ids
	}
	if a, b := targets(0), targets(5); !slices.Equal(a, b) {
		t.Errorf("%v, then %v", a, b)
	}
}

// Drawn with repetition every worker is as likely each time; Least is for the job.
func TestRepeatedAndLeast(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2, Least: 4000, Repeated: true}, 4)
	var at [4]int
	for _, p := range of(sched.Probe, f.submit(1)) {
		at[p.To.ID]++
	}
	for id, n := range at { // 1000 +- 5 standard deviations of 27
		if n < 863 || n > 1137 {
			t.Errorf("worker %d got %d of 4000 probes", id, n)
		}
	}
}

// docs/policies.md, sparrow: "The distributor hands out the next unlaunched task in
// order, or none".
func TestLateBinding(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 10)
	f.submit(2)
	for task := range int32(2) {
		m := f.ask(task)
		if m.Kind != sched.Launch || m.First != task || m.Attempt != 1 || m.Count != 1-task || m.Distributor != self {
			t.Fatalf("answered %s", sched.Describe(&m))
		}
	}
	if m := f.ask(2); m.Kind != sched.NoTask || m.Job != one {
		t.Fatalf("answered %s", sched.Describe(&m))
	}
	done := &sched.Message{Kind: sched.Report, Job: one, First: 1, Attempt: 1, Outcome: sched.Done}
	f.step(worker(1), done)
	f.step(worker(1), done)
	done.First = 0
	f.step(worker(0), done)
	if f.core.Ledger().Jobs() != 0 || f.core.Ledger().Repeated() != 1 {
		t.Errorf("%d jobs are left, %d results were repeated", f.core.Ledger().Jobs(), f.core.Ledger().Repeated())
	}
}

// A task that comes back is the next one out, and is probed for like a job of one.
func TestTasksThatComeBack(t *testing.T) {
	for name, c := range map[string]struct {
		from    sched.Addr
		message sched.Message
		attempt int32
	}{
		"refused":               {worker(4), sched.Message{Kind: sched.Refused, Job: one, Attempt: 1}, 1},
		"failed":                {worker(4), sched.Message{Kind: sched.Report, Job: one, Attempt: 1, Outcome: sched.Failed}, 2},
		"sent back as a result": {worker(4), sched.Message{Kind: sched.Report, Job: one, Attempt: 1, Outcome: sched.Yielded}, 2},
		"lost":                  {sched.Addr{}, *members(0, 1, 2, 3, 5, 6, 7), 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrontend(t, probing.Options{Ratio: 2}, 8)
			f.submit(2)
			f.ask(4)
			f.ask(5)
			got := of(sched.Probe, f.step(c.from, &c.message))
			if len(got) != 2 || got[0].Msg.Count != 1 || got[0].To == worker(4) && name == "lost" {
				t.Fatalf("sent %v", got)
			}
			if len(of(sched.Probe, f.step(c.from, &c.message))) != 0 {
				t.Fatal("the same message counted twice")
			}
			if m := f.ask(6); m.Kind != sched.Launch || m.First != 0 || m.Attempt != c.attempt {
				t.Fatalf("answered %s", sched.Describe(&m))
			}
		})
	}
}

// Workers that are missing for a while, and come back, were not lost: a task does not fail although
// they ran it when they were away. Workers of that number that come later may be other processes.
func TestWorkersThatComeBack(t *testing.T) {
	for away, unfinished := range map[sched.Time]int{10 * sched.Second: 1, 40 * sched.Second: 0} {
		f := newFrontend(t, probing.Options{Ratio: 2}, 0)
		list := func(missing int32) *sched.Message {
			m := members(0, 1, 2, 3)
			for i := range m.More.Members {
				m.More.Members[i].Node = fmt.Sprint("n", i)
			}
			if missing >= 0 {
				m.More.Members = slices.Delete(m.More.Members, int(missing), int(missing)+1)
			}
			return m
		}
		f.step(sched.Addr{}, list(-1))
		f.submit(1)
		for id := range int32(ledger.MaxLosses) {
			if m := f.ask(id); m.Kind != sched.Launch {
				t.Fatalf("answered %s", sched.Describe(&m))
			}
			f.step(sched.Addr{}, list(id))
			f.now += away
			f.step(sched.Addr{}, list(-1))
			f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: ledger.NextDue})
		}
		if got := f.core.Ledger().Tasks(); got != unfinished {
			t.Errorf("after each worker was away for %v s, %d tasks are unfinished, want %d", away.Seconds(), got, unfinished)
		}
	}
}

// Reservations are lost with their worker, and it is not known whose they were.
func TestLostReservations(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 3)
	f.submit(1)
	if got := of(sched.Probe, f.step(sched.Addr{}, members(0, 1))); len(got) != 2 {
		t.Fatalf("sent %v", got)
	}
	if got := of(sched.Probe, f.step(sched.Addr{}, members(0, 1, 2))); len(got) != 0 {
		t.Fatalf("a new worker made it send %v", got)
	}
	if m := f.ask(9); m.Kind != sched.NoTask {
		t.Fatalf("a worker that is not known got %s", sched.Describe(&m))
	}
}

// Without workers jobs wait for some.
func TestNoWorkers(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 0)
	if got := f.submit(3); len(got) != 0 {
		t.Fatalf("sent %v", got)
	}
	if got := of(sched.Probe, f.step(sched.Addr{}, members(5))); len(got) != 6 {
		t.Fatalf("sent %v", got)
	}
	f.step(sched.Addr{}, members(5, 4)) // not ascending: ignored
	if got := f.core.Members(); len(got) != 1 {
		t.Fatalf("members %v", got)
	}
}

// Section 3.6: outstanding reservations are withdrawn when the last task is bound.
func TestCancellation(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2, Cancel: true}, 4)
	probed := map[sched.Addr]bool{}
	for _, p := range of(sched.Probe, f.submit(2)) {
		probed[p.To] = true
	}
	f.ask(0)
	got := of(sched.CancelProbe, f.step(worker(1), &sched.Message{Kind: sched.GetTask, Job: one}))
	if len(got) != 2 || got[0].To.ID+got[1].To.ID != 2+3 || !probed[got[0].To] {
		t.Fatalf("withdrew %v", got)
	}
}

func TestCancelledJob(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 4)
	f.submit(2)
	f.ask(3)
	got := of(sched.Kill, f.step(sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: one, Reason: "enough"}))
	if len(got) != 1 || got[0].To != worker(3) || got[0].Msg.Attempt != 1 {
		t.Fatalf("killed %v", got)
	}
	if m := f.ask(1); m.Kind != sched.NoTask {
		t.Fatalf("answered %s", sched.Describe(&m))
	}
}

// A frontend that was started again does not know where its tasks run: each
// unfinished one that no worker reports within two seconds has a new attempt, and the
// results of both are one. New jobs do not wait.
func TestRestored(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 4)
	for _, m := range []sched.Message{
		{Kind: sched.Submit, Job: one, Count: 3, Resent: true},
		{Kind: sched.NewAttempt, Job: one, First: 1, Attempt: 2, Losses: 1},
		{Kind: sched.TaskEnded, Job: one, First: 2, Attempt: 1, Outcome: sched.Done},
		{Kind: sched.Submit, Job: sched.JobID{Lo: 2}, Count: 1, Resent: true},
		{Kind: sched.TaskEnded, Job: sched.JobID{Lo: 2}, Attempt: 1, Outcome: sched.Done},
	} {
		if got := f.step(sched.Addr{}, &m); len(of(sched.Probe, got)) != 0 {
			t.Fatalf("sent %v while the journal was read", got)
		}
	}
	if m := f.ask(0); m.Kind != sched.NoTask {
		t.Fatalf("answered %s while the journal was read", sched.Describe(&m))
	}
	if got := f.step(sched.Addr{}, &sched.Message{Kind: sched.Restored}); len(of(sched.Probe, got)) != 0 || got[len(got)-1].Kind != sched.Timer || got[len(got)-1].At != 2*sched.Second {
		t.Fatalf("did %v before the workers have reported", got)
	}
	if got := of(sched.Probe, f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: sched.JobID{Lo: 3}, Count: 1})); len(got) != 2 {
		t.Fatalf("sent %v for a new job", got)
	}
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: sched.JobID{Lo: 3}})
	if got := of(sched.Probe, f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: f.timer})); len(got) != 4 {
		t.Fatalf("sent %v for two unfinished tasks", got)
	}
	if m := f.ask(0); m.First != 0 || m.Attempt != 2 {
		t.Fatalf("launched %s", sched.Describe(&m))
	}
	// The first attempt ends after all: the second is not wanted.
	got := f.step(worker(3), &sched.Message{Kind: sched.Report, Job: one, Attempt: 1, Outcome: sched.Done})
	if k := of(sched.Kill, got); len(k) != 1 || k[0].To != worker(0) || k[0].Msg.Attempt != 2 {
		t.Fatalf("did %v", got)
	}
	if m := f.ask(1); m.First != 1 || m.Attempt != 3 {
		t.Fatalf("launched %s", sched.Describe(&m))
	}
	if f.core.Ledger().Jobs() != 1 {
		t.Errorf("%d jobs are left", f.core.Ledger().Jobs())
	}
}
