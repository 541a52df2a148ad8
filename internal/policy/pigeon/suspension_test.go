package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// suspending returns options of pigeon-x without canaries.
func suspending() pigeon.Options {
	o := pigeon.XOptions()
	o.Canary = false
	return o
}

// orders names the messages to workers: worker:kind job/task.
func orders(actions []sched.Action) []string {
	list := []string{}
	for _, a := range actions {
		if a.Kind == sched.Send && a.To.Role == sched.Worker {
			list = append(list, fmt.Sprintf("%d:%s %d/%d", a.To.ID, a.Msg.Kind, a.Msg.Job.Lo, a.Msg.First))
		}
	}
	return list
}

// arrives sends a job and returns the orders to workers.
func (r *rig) arrives(id uint64, class sched.Class, count int32, estimate sched.Time) []string {
	r.t.Helper()
	return orders(r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: id}, Class: class, Count: count, Attempt: 1, Distributor: distributor, Estimate: estimate, Arrival: r.now + 1,
		Marks: sched.Stoppable,
	}))
}

// idles sends the notice that the worker is free after that many changes of its slot.
func (r *rig) idles(id int32, changes uint64) []string {
	r.t.Helper()
	r.seq[id] += changes
	return orders(r.step(worker(id), &sched.Message{Kind: sched.Idle, Seq: r.seq[id]}))
}

// over is idles with a notice that names task 0 of the job as the one that has ended.
func (r *rig) over(id int32, job, changes uint64) []string {
	r.t.Helper()
	r.seq[id] += changes
	return orders(r.step(worker(id), &sched.Message{Kind: sched.Idle, Seq: r.seq[id], Job: sched.JobID{Lo: job}, Attempt: 1}))
}

// docs/policies.md, pigeon-x: "A short arrival tries, in order: an idle worker of its
// group, a victim, a flag, the queue."
func TestShortArrivalTriesInOrder(t *testing.T) {
	r := newSorted(t, suspending(), general(2))
	r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(3)})
	r.arrives(1, sched.Long, 1, 5000)
	r.step(group(3), spare(false))
	expect(t, "idle", r.arrives(2, sched.Short, 1, 1), []string{"1:Launch 2/0"})
	expect(t, "victim", r.arrives(3, sched.Short, 1, 1), []string{"0:Preempt 3/0"})
	if got := moves(r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 4}, Count: 2, Attempt: 1, Distributor: distributor})); len(got) != 1 || got[0] != "3:4/0" {
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
	expect(t, "long", r.over(0, 1, 2), []string{"0:Launch 4/0"})
}

// The victim may end while the order to suspend it is in transit: its worker runs
// the short task at once, and the master hears of the end by a notice that names
// the victim.
func TestVictimEndsBeforeItIsSuspended(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 5000)
	r.arrives(2, sched.Short, 1, 1)
	r.arrives(3, sched.Long, 1, 5000)
	expect(t, "the notice of the victim's end", r.over(0, 1, 2), nil)
	if queued, running := r.master.Job(jobOne); queued+running != 0 {
		t.Errorf("%d and %d tasks of the job that ended are kept", queued, running)
	}
	expect(t, "the short one's end", r.idles(0, 2), []string{"0:Launch 3/0"})

	w := pigeon.NewWorkerWith(sched.WorkerConfig{}, suspending())
	launch := sched.Message{Kind: sched.Launch, Job: jobOne, Attempt: 1, Class: sched.Long}
	preempt := sched.Message{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Kept: []sched.AttemptID{launch.AttemptID()}}
	actionsOf(w, &launch)
	if got := actionsOf(w, &sched.Message{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Done}); got != "[Report Idle 1/0]" {
		t.Errorf("the slot does %s", got)
	}
	if got := actionsOf(w, &preempt); got != "[Start]" {
		t.Errorf("the slot does %s", got)
	}
}

// actionsOf steps a slot and returns the names of its actions.
func actionsOf(w *pigeon.Worker, m *sched.Message) string {
	var out sched.Actions
	w.Step(0, group(0), m, &out)
	var got []string
	for _, a := range out.List() {
		switch {
		case a.Msg.Kind == sched.Idle && a.Msg.Attempt > 0:
			got = append(got, fmt.Sprintf("Idle %d/%d", a.Msg.Job.Lo, a.Msg.First))
		case a.Msg.Kind == sched.Report && a.Msg.Outcome == sched.Yielded:
			got = append(got, "Yielded")
		case a.Kind == sched.Send:
			got = append(got, a.Msg.Kind.String())
		default:
			got = append(got, a.Kind.String())
		}
	}
	return fmt.Sprint(got)
}

var jobTwo = sched.JobID{Lo: 2}

// The life of a slot that suspends: a repeated order does nothing, an unknown task is not suspended,
// and a suspended one resumes.
func TestSlotSuspends(t *testing.T) {
	w := pigeon.NewWorkerWith(sched.WorkerConfig{Master: group(0)}, suspending())
	of := func(job uint64) []sched.AttemptID { return []sched.AttemptID{{Job: sched.JobID{Lo: job}, Attempt: 1}} }
	launch := sched.Message{Kind: sched.Launch, Job: jobOne, Attempt: 1, Class: sched.Long, Distributor: distributor}
	preempt := sched.Message{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Distributor: distributor, Kept: of(1)}
	outdated := sched.Message{Kind: sched.Preempt, Job: sched.JobID{Lo: 3}, Attempt: 1, Kept: of(2)}
	unknown := sched.Message{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Kept: of(9)}
	goOn := func(job, seq uint64) sched.Message {
		return sched.Message{Kind: sched.Continue, Job: sched.JobID{Lo: job}, Attempt: 1, Seq: seq}
	}
	for i, c := range []struct {
		m    sched.Message
		want string
	}{
		{launch, "[Start]"},
		{unknown, "[Refused]"},
		{preempt, "[Suspend Start]"},
		{preempt, "[]"},
		{launch, "[]"},
		{outdated, "[Refused]"},
		{goOn(1, 0), "[]"},
		{sched.Message{Kind: sched.Ended, Job: jobTwo, Attempt: 1, Outcome: sched.Done}, "[Report Idle 2/0]"},
		{goOn(2, 3), "[Idle 2/0]"},
		{launch, "[]"},
		{goOn(1, 4), "[Resume]"},
		{goOn(1, 4), "[]"},
		{sched.Message{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Done}, "[Report Idle 1/0]"},
		{goOn(1, 4), "[]"},
	} {
		if got := actionsOf(w, &c.m); got != c.want {
			t.Errorf("%d, %s: %v, want %s", i, c.m.Kind, got, c.want)
		}
	}
}

// The task of a Preempt may have run in the slot before, when its distributor did not
// hear of its end. It is not run again, and the master does not wait for it.
func TestPreemptForWhatHasEnded(t *testing.T) {
	w := pigeon.NewWorkerWith(sched.WorkerConfig{Master: group(0)}, suspending())
	actionsOf(w, &sched.Message{Kind: sched.Launch, Job: jobTwo, Attempt: 1})
	actionsOf(w, &sched.Message{Kind: sched.Ended, Job: jobTwo, Attempt: 1, Outcome: sched.Done})
	actionsOf(w, &sched.Message{Kind: sched.Continue, Job: jobOne, Attempt: 1, Seq: 2}) // it is not here: another change
	preempt := sched.Message{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Seq: 2, Kept: []sched.AttemptID{{Job: jobOne, Attempt: 1}}}
	if got := actionsOf(w, &preempt); got != "[Idle 2/0]" {
		t.Errorf("the slot does %s", got)
	}
}

// A Preempt that was refused is refused again when it is repeated: its refusal changed the slot,
// and the master has sent the task elsewhere.
func TestRefusedPreemptIsRepeated(t *testing.T) {
	w := pigeon.NewWorkerWith(sched.WorkerConfig{Master: group(0)}, suspending())
	preempt := sched.Message{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Seq: 2, Kept: []sched.AttemptID{{Job: jobOne, Attempt: 1}}}
	for i, c := range []struct {
		m    sched.Message
		want string
	}{
		{sched.Message{Kind: sched.Launch, Job: jobOne, Attempt: 1, Class: sched.Long}, "[Start]"},
		{sched.Message{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Done}, "[Report Idle 1/0]"},
		{sched.Message{Kind: sched.Continue, Job: jobOne, Attempt: 1, Seq: 2}, "[Idle 1/0]"}, // it has ended
		{preempt, "[Refused Idle]"},
		{preempt, "[Refused Idle]"},
		{preempt, "[Refused Idle]"},
	} {
		if got := actionsOf(w, &c.m); got != c.want {
			t.Errorf("%d, %s: %v, want %s", i, c.m.Kind, got, c.want)
		}
	}
}

// A slot into which an earlier master launched a task before the new one continues
// its suspended task drops the latter: no message would ask for it again.
func TestSlotGivesUpWhatCannotGoOn(t *testing.T) {
	w := pigeon.NewWorkerWith(sched.WorkerConfig{Master: group(0)}, suspending())
	for _, m := range []sched.Message{
		{Kind: sched.Launch, Job: jobOne, Attempt: 1, Class: sched.Long},
		{Kind: sched.Preempt, Job: jobTwo, Attempt: 1, Kept: []sched.AttemptID{{Job: jobOne, Attempt: 1}}},
		{Kind: sched.Ended, Job: jobTwo, Attempt: 1, Outcome: sched.Done},
		{Kind: sched.Launch, Job: sched.JobID{Lo: 3}, Attempt: 1, Seq: 3},
	} {
		actionsOf(w, &m)
	}
	if got := actionsOf(w, &sched.Message{Kind: sched.Continue, Job: jobOne, Attempt: 1, Seq: 3, Epoch: 1}); got != "[Stop]" {
		t.Errorf("the slot does %s", got)
	}
	if got := actionsOf(w, &sched.Message{Kind: sched.Ended, Job: jobOne, Attempt: 1, Outcome: sched.Killed}); got != "[Report]" {
		t.Errorf("at the end of what it returned up it does %s", got)
	}
}

// A suspended task is at its worker: its job is among those that run.
func TestSuspendedTasksRun(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 3000)
	expect(t, "the short task", r.arrives(2, sched.Short, 1, 1), []string{"0:Preempt 2/0"})
	r.arrives(3, sched.Long, 1, 3000) // waits
	var jobs []uint64
	for job := range r.master.Running() {
		jobs = append(jobs, job.Lo)
	}
	if len(jobs) != 2 || jobs[0] != 2 || jobs[1] != 1 {
		t.Errorf("jobs %v run, want 2 and then 1, which it suspended", jobs)
	}
	for job, suspended := range map[uint64]bool{1: true, 2: false} {
		if share := r.master.Share(sched.JobID{Lo: job}, 9); share.Running != 1 || len(share.Tasks) != 1 || share.Tasks[0].Worker != worker(0) || share.Tasks[0].Suspended != suspended {
			t.Errorf("of job %d there is %+v", job, share)
		}
	}
}

// The assumed start of a task, its attained service ago, leaves out the time for which it was
// suspended.
func TestSinceWithoutPauses(t *testing.T) {
	since := func(r *rig, job uint64) sched.Time {
		t.Helper()
		share := r.master.Share(sched.JobID{Lo: job}, 9)
		if len(share.Tasks) != 1 {
			t.Fatalf("of job %d at %v: %+v", job, r.now, share)
		}
		return share.Tasks[0].Since
	}
	r := newSorted(t, suspending(), general(1))
	r.now = 5 * sched.Second
	r.arrives(1, sched.Long, 1, 3000)
	r.now = 15 * sched.Second
	if got := since(r, 1); got/sched.Second != 5 {
		t.Errorf("it runs since %v", got)
	}
	expect(t, "the short task", r.arrives(2, sched.Short, 1, 1), []string{"0:Preempt 2/0"})
	if got := since(r, 2); got/sched.Second != 15 {
		t.Errorf("the short one runs since %v", got)
	}
	r.now = 18 * sched.Second
	expect(t, "the end of the short one", r.over(0, 2, 2), []string{"0:Continue 1/0"})
	r.now = 20 * sched.Second
	if got := since(r, 1); got/sched.Second != 8 { // it has run for 12 s
		t.Errorf("after a pause of 3 s it runs since %v", got)
	}
}

// A slot that refuses to suspend continues its task, which is no victim any
// more, and the short task finds another place.
func TestSlotRefusesToSuspend(t *testing.T) {
	r := newSorted(t, suspending(), general(2))
	r.arrives(1, sched.Long, 1, 9000)
	r.arrives(2, sched.Long, 1, 3000)
	expect(t, "the larger", r.arrives(3, sched.Short, 1, 1), []string{"0:Preempt 3/0"})
	refused := &sched.Message{Kind: sched.Refused, Job: sched.JobID{Lo: 3}, Attempt: 1}
	expect(t, "the other", orders(r.step(worker(0), refused)), []string{"1:Preempt 3/0"})
	if queued, running := r.master.Job(jobOne); queued != 0 || running != 1 {
		t.Errorf("of the job that continues %d tasks are queued and %d run", queued, running)
	}
	expect(t, "neither", r.arrives(4, sched.Short, 1, 1), nil)
	expect(t, "its end", r.over(0, 1, 2), []string{"0:Launch 4/0"})
	if queued, running := r.master.Job(jobOne); queued != 0 || running != 0 {
		t.Errorf("of the job that has ended %d tasks are queued and %d run", queued, running)
	}
}

// The launch of a task that is to be suspended may itself have been refused.
func TestVictimWasRefused(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 9000)
	r.arrives(2, sched.Short, 1, 1)
	r.step(worker(0), &sched.Message{Kind: sched.Refused, Job: jobOne, Attempt: 1})
	r.step(worker(0), &sched.Message{Kind: sched.Refused, Job: jobTwo, Attempt: 1})
	if n := r.master.Queued(); n != 2 {
		t.Errorf("%d tasks are queued, want both", n)
	}
	expect(t, "the short one", r.idles(0, 1), []string{"0:Launch 2/0"})
}

// A notice without an attempt, from a slot that was ordered to continue a suspended
// task, means only that the order had not arrived yet: it is sent again.
func TestContinueIsRepeated(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 9000)
	r.arrives(2, sched.Short, 1, 1)
	r.arrives(3, sched.Long, 1, 9000)
	expect(t, "it continues", r.idles(0, 3), []string{"0:Continue 1/0"})
	expect(t, "again", r.idles(0, 1), []string{"0:Continue 1/0"})
	expect(t, "it has ended", r.over(0, 1, 1), []string{"0:Launch 3/0"})
}

// docs/cores.md: a restarted distributor hears of "all that is queued, running or suspended" for it.
func TestSuspendedTasksAreReported(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 2, 9000)
	r.arrives(2, sched.Short, 1, 1)
	describe(t, r.step(sched.Addr{}, &sched.Message{Kind: sched.DistributorUp, Distributor: distributor}),
		"Send to distributor 0: Holding job="+idOne+" tasks=0+2#1",
		"Send to distributor 0: Holding job="+sched.JobID{Lo: 2}.String()+" tasks=0+1#1",
		"Send to distributor 0: Holding")
}

// A drop stops those of the suspended tasks that it names.
func TestSuspendedTasksAreDropped(t *testing.T) {
	r := newSorted(t, suspending(), general(3))
	r.arrives(1, sched.Long, 3, 9000)
	r.arrives(2, sched.Short, 3, 1)
	got := r.step(distributor, &sched.Message{Kind: sched.Drop, Job: jobOne, First: 1, Count: 1})
	if list := orders(got); len(list) != 1 || got[0].Msg.Kind != sched.Kill || got[0].Msg.First != 1 {
		t.Errorf("did %v, want one Kill, of task 1", got)
	}
}

// pigeon-sort suspends nothing.
func TestSortDoesNotSuspend(t *testing.T) {
	r := newSorted(t, pigeon.DefaultOptions(), general(1))
	r.arrives(1, sched.Long, 1, 9000)
	expect(t, "it waits", r.arrives(2, sched.Short, 1, 1), nil)
}

// A notice may name as suspended what its master takes for running, if an order from before the
// slot registered has suspended it: the slot continues it.
func TestSuspendedUnknownToTheMaster(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 9000)
	got := r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 4, Job: jobTwo, Attempt: 1, Kept: []sched.AttemptID{{Job: jobOne, Attempt: 1}}})
	expect(t, "it continues", orders(got), []string{"0:Continue 1/0"})
	if queued, running := r.master.Job(jobOne); queued != 0 || running != 1 {
		t.Errorf("%d tasks are queued and %d run", queued, running)
	}
}

// The task that a slot was ordered to continue may never have been there: the refusal of its
// launch comes late, and it waits again.
func TestLateRefusalOfWhatGoesOn(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.arrives(1, sched.Long, 1, 9000)
	r.arrives(2, sched.Short, 1, 1)
	expect(t, "it continues", r.idles(0, 1), []string{"0:Continue 1/0"})
	r.step(worker(0), &sched.Message{Kind: sched.Refused, Job: jobOne, Attempt: 1})
	if queued, running := r.master.Job(jobOne); queued != 1 || running != 0 {
		t.Errorf("%d tasks are queued and %d run", queued, running)
	}
	expect(t, "it is launched", r.idles(0, 1), []string{"0:Launch 1/0"})
}

// "Only tasks that can be stopped and continued are victims."
func TestOnlyStoppableTasksAreVictims(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	task := sched.Message{Kind: sched.Tasks, Job: jobOne, Class: sched.Long, Count: 1, Attempt: 1, Distributor: distributor}
	r.step(distributor, &task)
	expect(t, "it cannot be stopped", r.arrives(2, sched.Short, 1, 1), nil)
	task.Marks = sched.Stoppable // as its distributor states later
	r.step(distributor, &task)
	expect(t, "it can", r.arrives(3, sched.Short, 1, 1), []string{"0:Preempt 3/0"})
}

// A master that follows another learns of suspended tasks from the slots that hold
// them: an idle slot continues at once, a busy one later, and suspended tasks are
// not launched again.
func TestSuspendedTasksAreAdopted(t *testing.T) {
	for _, busy := range []bool{false, true} {
		r := newRig(t, 0)
		r.master = pigeon.NewMasterWith(sched.MasterConfig{Recover: true, Params: sched.Params{Cutoff: 1000}}, suspending())
		up := sched.Message{Kind: sched.WorkerUp, Peer: worker(0), Node: "n", Serves: []string{""}, Seq: 6}
		held := up
		held.Job, held.Attempt, held.Distributor, held.Class = jobOne, 1, distributor, sched.Long
		want := []string{"0:SetReserved 0/0", "0:Continue 1/0"}
		if busy {
			up.Job, up.Attempt, up.Distributor = jobTwo, 1, distributor
			want = want[:1]
		}
		got := orders(r.step(sched.Addr{}, &up))
		expect(t, "adopted", append(got, orders(r.step(sched.Addr{}, &held))...), want)
		expect(t, "twice", orders(r.step(sched.Addr{}, &held)), nil)
		for _, id := range []sched.JobID{jobOne, jobTwo} {
			r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: id, Count: 1, Attempt: 1, Distributor: distributor, Resent: true, Class: sched.Class(2 - id.Lo)})
		}
		r.now += sched.Second
		got = orders(r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout}))
		if busy {
			expect(t, "then", got, nil)
			r.seq[0] = 6
			expect(t, "its turn", r.idles(0, 1), []string{"0:Continue 1/0"})
		}
	}
}

// A suspended task is lost with its worker, and killed when it is unwanted.
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
	expect(t, "dropped", orders(r.step(distributor, &sched.Message{Kind: sched.Drop, Job: sched.JobID{Lo: 2}})), []string{"1:Kill 2/0"})
}

// docs/policies.md, pigeon-x: "`patience` (0 by default) waits that long before
// suspending; at its end, if the task still waits, the queue's head is launched."
func TestPatience(t *testing.T) {
	o := suspending()
	o.Patience = 100
	r := newSorted(t, o, general(2))
	r.arrives(1, sched.Long, 2, 5000)
	expect(t, "patient", r.arrives(2, sched.Short, 1, 9), nil)
	if a := r.out.List(); len(a) != 1 || a[0].Kind != sched.Timer || a[0].At != r.now+100 {
		t.Fatalf("does %v, want a timer", a)
	}
	over := &sched.Message{Kind: sched.Timeout, Token: r.out.List()[0].Token}
	expect(t, "patient", r.arrives(3, sched.Short, 1, 1), nil)
	expect(t, "the head, which came later", orders(r.step(sched.Addr{}, over)), []string{"1:Preempt 3/0"})
	expect(t, "it waits no more", orders(r.step(sched.Addr{}, over)), nil)
}
