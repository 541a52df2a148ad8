package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// suspending gives options of pigeon-x.
func suspending() pigeon.Options {
	o := pigeon.DefaultOptions()
	o.Suspend = true
	return o
}

// orders names what workers are told: worker:kind job/task.
func orders(actions []sched.Action) []string {
	list := []string{}
	for _, a := range actions {
		if a.Kind == sched.Send && a.To.Role == sched.Worker {
			list = append(list, fmt.Sprintf("%d:%s %d/%d", a.To.ID, a.Msg.Kind, a.Msg.Job.Lo, a.Msg.First))
		}
	}
	return list
}

// arrives sends a job and gives what workers are told.
func (r *rig) arrives(id uint64, class sched.Class, count int32, estimate sched.Time) []string {
	r.t.Helper()
	return orders(r.step(owner, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: id}, Class: class, Count: count, Attempt: 1, Owner: owner, Estimate: estimate, Arrival: r.now + 1,
	}))
}

// idles says that the worker is free after so many changes of its slot.
func (r *rig) idles(id int32, changes uint64) []string {
	r.t.Helper()
	r.seq[id] += changes
	return orders(r.step(worker(id), &sched.Message{Kind: sched.Idle, Seq: r.seq[id]}))
}

// policies.md: "A short arrival tries, in order: an idle worker of its group, a
// victim, a flag, the queue."
func TestShortArrivalTriesInOrder(t *testing.T) {
	r := newSorted(t, suspending(), general(2))
	r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(3)})
	r.arrives(1, sched.Long, 1, 5000)
	r.step(group(3), spare(false))
	expect(t, "idle", r.arrives(2, sched.Short, 1, 1), []string{"1:Launch 2/0"})
	expect(t, "victim", r.arrives(3, sched.Short, 1, 1), []string{"0:Preempt 3/0"})
	if got := said(r.step(owner, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 4}, Count: 2, Attempt: 1, Owner: owner})); len(got) != 1 || got[0] != "3:Moved 4/0" {
		t.Errorf("flag: moved %q", got)
	}
	if n := r.master.Queued(); n != 1 {
		t.Errorf("%d tasks are queued, want 1", n)
	}
}

// "Victim: of the workers that run a long task and hold no suspended one, that with
// the largest index [...]; ties: last started."
func TestVictim(t *testing.T) {
	r := newSorted(t, suspending(), general(4))
	r.arrives(1, sched.Long, 1, 3000)
	r.arrives(2, sched.Long, 1, 9000)
	r.now-- // the next arrives at the same instant as the one before
	r.arrives(3, sched.Long, 1, 9000)
	r.arrives(4, sched.Short, 1, 9)
	expect(t, "last started of the largest", r.arrives(5, sched.Short, 1, 1), []string{"2:Preempt 5/0"})
	expect(t, "the next", r.arrives(6, sched.Short, 1, 1), []string{"1:Preempt 6/0"})
	expect(t, "the least", r.arrives(7, sched.Short, 1, 1), []string{"0:Preempt 7/0"})
	expect(t, "none is left", r.arrives(8, sched.Short, 1, 1), nil)
}

// "A worker that ends a task takes: the short queue, its own suspended task, the
// long queue (in this order)."
func TestWorkerTakesShortThenItsOwnThenLong(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 5000)
	expect(t, "over it", r.arrives(2, sched.Short, 1, 1), []string{"0:Preempt 2/0"})
	r.arrives(3, sched.Short, 1, 1)
	r.arrives(4, sched.Long, 1, 1)
	expect(t, "short", r.idles(0, 3), []string{"0:Launch 3/0"})
	expect(t, "its own", r.idles(0, 2), []string{"0:Continue 1/0"})
	expect(t, "over it again", r.arrives(5, sched.Short, 1, 1), []string{"0:Preempt 5/0"})
	expect(t, "its own", r.idles(0, 3), []string{"0:Continue 1/0"})
	expect(t, "long", r.idles(0, 2), []string{"0:Launch 4/0"})
}

// The victim may end while the order to suspend it is on its way: its worker runs
// the short task at once, and the master hears of the end.
func TestVictimEndsBeforeItIsSuspended(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 5000)
	r.arrives(2, sched.Short, 1, 1)
	r.arrives(3, sched.Long, 1, 5000)
	expect(t, "the notice of the victim's end", r.idles(0, 2), nil)
	if queued, running := r.master.Job(sched.JobID{Lo: 1}); queued+running != 0 {
		t.Errorf("%d and %d tasks of the job that ended are kept", queued, running)
	}
	expect(t, "the short one's end", r.idles(0, 2), []string{"0:Launch 3/0"})

	w := pigeon.NewWorker(sched.WorkerConfig{})
	var out sched.Actions
	for _, m := range []sched.Message{
		{Kind: sched.Launch, Job: jobOne, Attempt: 1, Class: sched.Long},
		{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Done},
		{Kind: sched.Preempt, Job: jobTwo, Attempt: 1},
	} {
		out.Reset()
		w.Step(0, group(0), &m, &out)
	}
	if l := out.List(); len(l) != 1 || l[0].Kind != sched.Start || l[0].Msg.Job != jobTwo {
		t.Errorf("the slot does %v", l)
	}
}

var jobTwo = sched.JobID{Lo: 2}

// The life of a slot that suspends: one task at most is held, an order that comes
// again does nothing, and what was stopped goes on.
func TestSlotSuspends(t *testing.T) {
	w := pigeon.NewWorker(sched.WorkerConfig{Master: group(0)})
	launch := sched.Message{Kind: sched.Launch, Job: jobOne, Attempt: 1, Class: sched.Long, Owner: owner}
	preempt := sched.Message{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Owner: owner}
	third := sched.Message{Kind: sched.Preempt, Job: sched.JobID{Lo: 3}, Attempt: 1, Seq: 1}
	for i, c := range []struct {
		m    sched.Message
		want string
	}{
		{launch, "[Start]"},
		{preempt, "[Suspend Start]"},
		{preempt, "[]"},
		{third, "[Refused]"},
		{sched.Message{Kind: sched.Continue, Job: jobOne, Attempt: 1, Seq: 2}, "[]"},
		{sched.Message{Kind: sched.Ended, Job: jobTwo, Attempt: 1, Outcome: sched.Done}, "[Report Idle]"},
		{sched.Message{Kind: sched.Continue, Job: jobTwo, Attempt: 1, Seq: 3}, "[Idle]"},
		{sched.Message{Kind: sched.Continue, Job: jobOne, Attempt: 1, Seq: 4}, "[Resume]"},
		{sched.Message{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Done}, "[Report Idle]"},
	} {
		var out sched.Actions
		w.Step(0, group(0), &c.m, &out)
		var got []string
		for _, a := range out.List() {
			if a.Kind == sched.Send {
				got = append(got, a.Msg.Kind.String())
			} else {
				got = append(got, a.Kind.String())
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d, %s: %v, want %s", i, c.m.Kind, got, c.want)
		}
	}
}

// What is suspended is lost with its worker, and killed when nobody wants it.
func TestSuspendedIsNotForgotten(t *testing.T) {
	r := newSorted(t, suspending(), general(2))
	r.arrives(1, sched.Long, 1, 5000)
	r.arrives(2, sched.Long, 1, 4000)
	r.arrives(3, sched.Short, 2, 1)
	lost := ""
	for _, a := range r.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerLost, Peer: worker(0)}) {
		if a.Msg.Kind == sched.AttemptLost {
			lost += fmt.Sprintf(" %d/%d", a.Msg.Job.Lo, a.Msg.First)
		}
	}
	if lost != " 3/0 1/0" {
		t.Errorf("lost%s", lost)
	}
	expect(t, "dropped", orders(r.step(owner, &sched.Message{Kind: sched.Drop, Job: sched.JobID{Lo: 2}})), []string{"1:Kill 2/0"})
}

// policies.md: "patience (0 by default) waits that long before suspending; at its
// end, if the task still waits, the queue's head is launched."
func TestPatience(t *testing.T) {
	o := suspending()
	o.Patience = 100
	r := newSorted(t, o, general(1))
	r.arrives(1, sched.Long, 1, 5000)
	expect(t, "patient", r.arrives(2, sched.Short, 1, 9), nil)
	if a := r.out.List(); len(a) != 1 || a[0].Kind != sched.Timer || a[0].At != r.now+100 {
		t.Fatalf("does %v, want a timer", a)
	}
	over := &sched.Message{Kind: sched.Timeout, Token: r.out.List()[0].Token}
	expect(t, "patient", r.arrives(3, sched.Short, 1, 1), nil)
	expect(t, "the head, which came later", orders(r.step(sched.Addr{}, over)), []string{"0:Preempt 3/0"})
	expect(t, "it waits no more", orders(r.step(sched.Addr{}, over)), nil)
}
