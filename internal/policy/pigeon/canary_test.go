package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const anyway = sched.Stoppable | sched.Restartable

// declaredLong sends a job whose task 0 is a canary, and returns the orders to workers.
func (r *rig) declaredLong(id uint64, count int32, marks sched.Marks) []string {
	r.t.Helper()
	return orders(r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: id}, Class: sched.Long, Count: count, Attempt: 1, Distributor: distributor, Estimate: 5000, Arrival: r.now + 1,
		Marks: marks | sched.Canary,
	}))
}

// cutoff lets a cutoff pass and fires the timer for it, if one was requested.
func (r *rig) cutoff() []sched.Action {
	r.t.Helper()
	r.now += 1000
	return r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: 2})
}

// classes names the classes sent to distributors: job class.
func classes(actions []sched.Action) []string {
	list := []string{}
	for _, a := range actions {
		if a.Kind == sched.Send && a.Msg.Kind == sched.Reclass {
			list = append(list, fmt.Sprintf("%d %s", a.Msg.Job.Lo, a.Msg.Class))
		}
	}
	return list
}

// docs/policies.md, pigeon-x: "Task 0 of every job declared long is tried once at
// short priority (no victim while short)."
func TestCanaryIsTriedAsShort(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(1))
	r.arrives(1, sched.Long, 1, 5000)
	expect(t, "over a long task", r.declaredLong(2, 3, anyway), []string{"0:Preempt 2/0"})
	expect(t, "it is no victim", r.arrives(3, sched.Short, 1, 1), nil)
	expect(t, "nor for another canary", r.declaredLong(4, 1, anyway), nil)
	if short, long := r.master.Totals().Queued[sched.Short], r.master.Totals().Queued[sched.Long]; short != 2 || long != 2 {
		t.Errorf("%d tasks wait as short and %d as long, want 2 and 2", short, long)
	}
	expect(t, "short", r.over(0, 2, 3), []string{"0:Launch 3/0"})
	expect(t, "the canary that waited", r.over(0, 3, 2), []string{"0:Launch 4/0"})
	expect(t, "what is suspended", r.over(0, 4, 2), []string{"0:Continue 1/0"})
	expect(t, "long", r.over(0, 1, 2), []string{"0:Launch 2/1"})
	if without := newSorted(t, suspending(), general(1)); len(without.declaredLong(1, 2, anyway)) != 1 || without.master.Totals().Queued[sched.Short] != 0 {
		t.Error("a canary without the option")
	}
}

// A canary that its slot refuses is still served as a short task.
func TestRefusedCanaryStaysShort(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(1))
	expect(t, "the canary", r.declaredLong(2, 1, anyway), []string{"0:Launch 2/0"})
	r.step(worker(0), &sched.Message{Kind: sched.Refused, Job: jobTwo, Attempt: 1, Seq: 1})
	if short, long := r.master.Totals().Queued[sched.Short], r.master.Totals().Queued[sched.Long]; short != 1 || long != 0 {
		t.Errorf("%d tasks wait as short and %d as long, want 1 and 0", short, long)
	}
}

// Only task 0 is a canary, also where it is known here when its siblings come with the mark.
func TestOnlyTaskZeroIsACanary(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(2))
	r.arrives(9, sched.Long, 2, 5000)
	expect(t, "alone", r.declaredLong(2, 1, anyway), []string{"1:Preempt 2/0"})
	expect(t, "with its siblings", r.declaredLong(2, 3, anyway), nil)
	if short, long := r.master.Totals().Queued[sched.Short], r.master.Totals().Queued[sched.Long]; short != 0 || long != 2 {
		t.Errorf("%d tasks wait as short and %d as long, want 0 and 2", short, long)
	}
}

// "If it runs past the cutoff it becomes long: it is stopped and queued again as long
// only if [...] its worker has a suspended task or a queue here has any task
// (restartable tasks only [...])."
func TestCanaryRunsPastTheCutoff(t *testing.T) {
	for name, c := range map[string]struct {
		marks  sched.Marks
		before func(*rig)
		want   []string
		victim bool // it is one afterwards
	}{
		"nothing waits":              {anyway, func(*rig) {}, nil, true},
		"a task waits":               {anyway, func(r *rig) { r.arrives(3, sched.Short, 1, 1) }, []string{"0:Yield 2/0"}, false},
		"a long task waits":          {anyway, func(r *rig) { r.arrives(3, sched.Long, 1, 1) }, []string{"0:Yield 2/0"}, false},
		"it cannot be started again": {sched.Stoppable, func(r *rig) { r.arrives(3, sched.Short, 1, 1) }, []string{"0:Preempt 3/0"}, false},
		"nor can it be stopped":      {0, func(r *rig) { r.arrives(3, sched.Short, 1, 1) }, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSorted(t, pigeon.XOptions(), general(1))
			r.declaredLong(2, 1, c.marks)
			c.before(r)
			got := r.cutoff()
			expect(t, "at the cutoff", orders(got), c.want)
			if sent := classes(got); len(sent) != 0 {
				t.Errorf("sent %q", sent)
			}
			if victim := len(r.arrives(9, sched.Short, 1, 1)) > 0; victim != c.victim {
				t.Errorf("it is a victim: %v", victim)
			}
		})
	}
	r := newSorted(t, pigeon.XOptions(), general(1))
	r.arrives(1, sched.Long, 1, 5000)
	r.declaredLong(2, 1, anyway)
	expect(t, "its worker holds a task", orders(r.cutoff()), []string{"0:Yield 2/0"})
}

// A canary that was stopped is reported as such: it counts as no loss, and the next
// attempt is no canary and not at the head.
func TestCanaryThatWasStopped(t *testing.T) {
	w := pigeon.NewWorkerWith(sched.WorkerConfig{}, pigeon.XOptions())
	yield := sched.Message{Kind: sched.Yield, Job: jobOne, Attempt: 1}
	for i, c := range []struct {
		m    sched.Message
		want string
	}{
		{sched.Message{Kind: sched.Launch, Job: jobOne, Attempt: 1}, "[Start]"},
		{yield, "[Stop]"},
		{sched.Message{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Killed}, "[Yielded Idle 1/0]"},
		{yield, "[]"},
	} {
		if got := actionsOf(w, &c.m); got != c.want {
			t.Errorf("%d, %s: %s, want %s", i, c.m.Kind, got, c.want)
		}
	}
	f := newFrontendX(t, 1)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 2, Class: sched.Long, Marks: anyway})
	got := sent(f.step(worker(0), &sched.Message{Kind: sched.Report, Job: jobOne, Attempt: 1, Outcome: sched.Yielded}))
	if len(got) != 1 || got[0].Msg.Attempt != 2 || got[0].Msg.Head || got[0].Msg.Marks != anyway {
		t.Errorf("sent %v", got)
	}
	if n := f.core.Ledger().Job(jobOne).Tasks[0].Losses; n != 0 {
		t.Errorf("%d losses", n)
	}
}

// "If it ends earlier its job is promoted: the job's queued tasks move to the tail of
// the short queue at every master, by way of the frontend."
func TestCanaryEndsEarlier(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(2))
	r.declaredLong(1, 4, anyway)
	r.arrives(2, sched.Long, 1, 9000)
	r.arrives(3, sched.Short, 2, 1)
	r.now += 900
	r.seq[0] += 2
	got := r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: r.seq[0], Job: jobOne, Attempt: 1})
	if sent := fmt.Sprint(classes(got)); sent != "[1 short]" {
		t.Errorf("sent %s", sent)
	}
	if long := r.master.Totals().Queued[sched.Long]; long != 3 {
		t.Fatalf("%d long tasks wait, want 3", long)
	}
	for range 2 { // the second changes nothing
		r.step(distributor, &sched.Message{Kind: sched.Reclass, Job: jobOne, Class: sched.Short})
		if short, long := r.master.Totals().Queued[sched.Short], r.master.Totals().Queued[sched.Long]; short != 2 || long != 1 {
			t.Errorf("%d tasks wait as short and %d as long, want 2 and 1", short, long)
		}
	}
}

// A notice that does not name the canary, from a snapshot or of a slot that refused
// it, is no proof that it ran.
func TestCanaryThatMayNotHaveRun(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(1))
	r.declaredLong(1, 2, anyway)
	if sent := classes(r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 7})); len(sent) != 0 {
		t.Errorf("sent %q", sent)
	}
}

// "A task of a job declared short that runs past the cutoff demotes its job likewise
// to the long tail, later arrivals too; running siblings stay; the task is suspended
// if a short one waits and none is suspended there."
func TestShortTaskRunsPastTheCutoff(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(2))
	r.arrives(1, sched.Short, 3, 1)
	got := r.cutoff()
	if sent := fmt.Sprint(classes(got)); sent != "[1 long]" { // one message for both that run
		t.Errorf("sent %s", sent)
	}
	expect(t, "no short one waits", orders(got), nil)
	for range 2 { // the second changes nothing
		r.step(distributor, &sched.Message{Kind: sched.Reclass, Job: jobOne, Class: sched.Long})
		r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: jobOne, Class: sched.Long, First: 3, Count: 1, Attempt: 1, Distributor: distributor, Marks: sched.Stoppable})
		if short, long := r.master.Totals().Queued[sched.Short], r.master.Totals().Queued[sched.Long]; short != 0 || long != 2 {
			t.Errorf("%d tasks wait as short and %d as long, want 0 and 2", short, long)
		}
	}
	expect(t, "over one that ran past the cutoff", r.arrives(2, sched.Short, 1, 1), []string{"1:Preempt 2/0"})

	r = newSorted(t, pigeon.XOptions(), general(2))
	r.arrives(1, sched.Short, 1, 1)
	r.now += 500
	r.arrives(2, sched.Short, 1, 1)
	r.arrives(3, sched.Short, 1, 1)
	r.now -= 500
	expect(t, "for the short one that waits", orders(r.cutoff()), []string{"0:Preempt 3/0"})
	expect(t, "the sibling that began later stays", r.arrives(4, sched.Short, 1, 1), nil)
	r.now += 500
	expect(t, "none of its worker's", orders(r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: 2})), []string{"1:Preempt 4/0"})
}

// One timer is enough for all short tasks that run, and there is none without one.
func TestOneTimerForShortTasks(t *testing.T) {
	timers := func(actions []sched.Action) (list []sched.Time) {
		for _, a := range actions {
			if a.Kind == sched.Timer {
				list = append(list, a.At)
			}
		}
		return list
	}
	r := newSorted(t, pigeon.XOptions(), general(3))
	task := func(job uint64) []sched.Time {
		return timers(r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: job}, Count: 1, Attempt: 1, Distributor: distributor}))
	}
	first := task(1)
	if len(first) != 1 || first[0] != r.now+1000 {
		t.Fatalf("timers at %v, want a cutoff from %d", first, r.now)
	}
	if more := task(2); len(more) != 0 {
		t.Errorf("timers at %v, and one runs", more)
	}
	began := r.now
	r.over(0, 1, 2)
	r.now = first[0] - 1
	if next := timers(r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: 2})); len(next) != 1 || next[0] != began+1000 {
		t.Errorf("timers at %v, want %d", next, began+1000)
	}
	r.over(1, 2, 2)
	if next := timers(r.cutoff()); len(next) != 0 {
		t.Errorf("timers at %v, and no task runs", next)
	}
}
