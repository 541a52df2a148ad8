package probing_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The view shows the waiting tasks, the worker to which each task was sent, and nothing of an
// unknown job.
func TestView(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 0)
	f.submit(4)
	if v, ok := f.core.JobView(one, 9); !ok || !v.NoWorker || v.Unbound != 4 || v.Bound != 0 || len(v.Tasks) != 0 {
		t.Errorf("without workers: %+v, %v", v, ok)
	}
	f.step(sched.Addr{}, members(upTo(3)...))
	for w := range int32(3) {
		f.ask(w)
	}
	f.step(worker(0), &sched.Message{Kind: sched.Report, Job: one, First: 0, Attempt: 1, Outcome: sched.Done})
	f.step(worker(1), &sched.Message{Kind: sched.Report, Job: one, First: 1, Attempt: 1, Outcome: sched.Failed})
	if m := f.ask(1); m.First != 1 || m.Attempt != 2 {
		t.Fatalf("answered %s, want the task that failed, which is sent again at once", sched.Describe(&m))
	}
	f.step(worker(1), &sched.Message{Kind: sched.Report, Job: one, First: 1, Attempt: 2, Outcome: sched.Failed})
	if v, _ := f.core.JobView(one, 9); v.Waiting != 1 || v.Next != 25*sched.Millisecond || v.NextTask != 1 || v.Unbound != 1 || v.Bound != 1 {
		t.Errorf("with one that waits for its time: %+v", v)
	}
	f.now = 100 * sched.Millisecond
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: ledger.NextDue})
	f.ask(0) // task 1 again
	v, ok := f.core.JobView(one, 9)
	if !ok || v.NoWorker || v.Unbound != 1 || v.Bound != 2 || len(v.Tasks) != 2 {
		t.Fatalf("%+v, %v", v, ok)
	}
	if v.Tasks[0] != (sched.TaskView{Task: 1, Attempt: 3, Worker: worker(0), Since: sched.Unknown}) || v.Tasks[1] != (sched.TaskView{Task: 2, Attempt: 1, Worker: worker(2), Since: sched.Unknown}) {
		t.Errorf("bound are %+v", v.Tasks)
	}
	if v, _ := f.core.JobView(one, 1); v.Bound != 2 || len(v.Tasks) != 1 {
		t.Errorf("one of them: %+v", v)
	}
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: one})
	if _, ok := f.core.JobView(one, 9); ok {
		t.Error("a cancelled job is shown")
	}
}

// Members with Resent probe again for unbound tasks, and touch nothing else.
func TestReservationsThatMayBeGone(t *testing.T) {
	f := newFrontend(t, probing.Options{Ratio: 2}, 4)
	f.submit(3)
	f.ask(0)
	again := members(upTo(4)...)
	if did := f.step(sched.Addr{}, again); len(did) != 0 {
		t.Errorf("the same members again: %v", did)
	}
	again.Resent = true
	did := f.step(sched.Addr{}, again)
	if probes := of(sched.Probe, did); len(probes) != 4 || len(did) != 4 {
		t.Errorf("2 tasks are unbound, and %d actions follow, %d of them probes", len(did), len(probes))
	}
	f.ask(1)
	f.ask(2)
	if did := f.step(sched.Addr{}, again); len(did) != 0 {
		t.Errorf("with every task bound: %v", did)
	}
}
