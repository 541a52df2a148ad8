package pigeon_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// unknown sends an undeclared job, and returns the orders to workers.
func (r *rig) unknown(id uint64, count int32) []string {
	r.t.Helper()
	return orders(r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: id}, Count: count, Attempt: 1, Distributor: distributor, Arrival: r.now + 1,
		Marks: anyway | sched.Undeclared,
	}))
}

// ended sends the notice that the task of the job has ended after that many changes of
// the slot, and returns the orders to workers.
func (r *rig) ended(id int32, job uint64, task int32, changes uint64, kept ...uint64) []string {
	r.t.Helper()
	r.seq[id] += changes
	m := &sched.Message{Kind: sched.Idle, Seq: r.seq[id], Job: sched.JobID{Lo: job}, First: task, Attempt: 1}
	for _, k := range kept {
		m.Kept = append(m.Kept, sched.AttemptID{Job: sched.JobID{Lo: k}, Attempt: 1})
	}
	return orders(r.step(worker(id), m))
}

func (r *rig) waiting() string {
	t := r.master.Totals()
	return fmt.Sprintf("%d short, %d long", t.Queued[sched.Short], t.Queued[sched.Long])
}

func expectWaiting(t *testing.T, r *rig, what, want string) {
	t.Helper()
	if got := r.waiting(); got != want {
		t.Errorf("%s: %s wait, want %s", what, got, want)
	}
}

func timersOf(actions []sched.Action) (count int) {
	for _, a := range actions {
		if a.Kind == sched.Timer {
			count++
		}
	}
	return count
}

// docs/policies.md, pigeon: "When a task of one has run for a cutoff, its job is long: what
// of it waits goes to the tail of the long queue, in every group."
// Without the mark nothing is watched, and there is no timer.
func TestUndeclaredJobOfPigeonBecomesLong(t *testing.T) {
	for name, build := range map[string]func() *rig{
		"pigeon": func() *rig {
			r := newRig(t, 0)
			r.master = pigeon.NewMaster(sched.MasterConfig{Params: sched.Params{Cutoff: 1000}})
			r.up(general(2))
			r.up(general(2))
			return r
		},
		"pigeon-sort": func() *rig { return newSorted(t, pigeon.DefaultOptions(), general(2)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := build()
			declared := r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, Count: 1, Attempt: 1, Distributor: distributor, Estimate: 1})
			if n := timersOf(declared); n != 0 {
				t.Errorf("%d timers for a declared job", n)
			}
			r.unknown(2, 4)
			r.arrives(3, sched.Long, 1, 1)
			r.unknown(4, 1)
			expectWaiting(t, r, "at first", "4 short, 1 long")
			if sent := fmt.Sprint(classes(r.cutoff())); sent != "[2 long]" {
				t.Errorf("sent %s, want that job 2 is long", sent)
			}
			expectWaiting(t, r, "after a cutoff", "1 short, 4 long")
			r.step(distributor, &sched.Message{Kind: sched.Reclass, Job: jobTwo, Class: sched.Long})
			expectWaiting(t, r, "after the distributor's word", "1 short, 4 long")
			r.unknown(2, 0)
			if got := r.cutoff(); timersOf(got) != 0 || len(classes(got)) != 0 {
				t.Errorf("what has run past the cutoff is watched again: %v", got)
			}
		})
	}
}

// A task that ends within the cutoff makes nothing long.
func TestUndeclaredJobOfPigeonStaysShort(t *testing.T) {
	r := newRig(t, 0)
	r.master = pigeon.NewMaster(sched.MasterConfig{Params: sched.Params{Cutoff: 1000}})
	r.up(general(1))
	r.unknown(1, 3)
	r.now += 900
	r.ends(0)
	r.now += 150 // past the cutoff of the first, not of the second
	got := r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: 2})
	if len(classes(got)) != 0 || timersOf(got) != 1 {
		t.Errorf("%v, want a timer for the second task and nothing else", got)
	}
	expectWaiting(t, r, "then", "1 short, 0 long")
}

// docs/policies.md, pigeon-x: "At first five tasks of the job are served as short ones at
// a time in each group; each task that ends within the cutoff makes that four times as
// many. The others wait in the long queue, ordered by the estimate, and are victims while
// they run."
func TestWindow(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(3))
	r.arrives(1, sched.Long, 3, 5000)
	got := r.unknown(2, 30)
	if len(got) != 3 {
		t.Fatalf("orders %q, want a suspension at each worker", got)
	}
	expectWaiting(t, r, "two wait within the window", "2 short, 25 long")
	r.now += 100
	expect(t, "the worker takes one of them", r.ended(0, 2, 2, 3, 1), []string{"0:Launch 2/3"})
	expectWaiting(t, r, "a window of 20", "17 short, 9 long")
	expect(t, "and goes on", r.ended(0, 2, 3, 2, 1), []string{"0:Launch 2/4"})
	expectWaiting(t, r, "a window of 80", "25 short, 0 long")
	expect(t, "short jobs of fewer tasks come first", r.unknown(3, 1), nil)
	expect(t, "at the next end", r.ended(0, 2, 4, 2, 1), []string{"0:Launch 3/0"})
}

// A task past the window that an idle worker runs is suspended for others, although its
// job may be short.
func TestTasksPastTheWindowGiveWay(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(6))
	if got := r.unknown(1, 6); len(got) != 6 {
		t.Fatalf("orders %q, want six launches", got)
	}
	expect(t, "the sixth gives way", r.unknown(2, 1), []string{"5:Preempt 2/0"})
	expect(t, "the five do not", r.unknown(3, 1), nil)
}

// "Its job becomes long, in every group, once the estimate is above the cutoff: some tasks
// of a short job may run longer."
func TestOneLongTaskOfAShortJob(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(4))
	r.unknown(1, 4)
	began := r.now
	r.now += 100
	for task := int32(1); task < 4; task++ {
		r.ended(task, 1, task, 2)
	}
	r.now = began + 999
	got := r.step(sched.Addr{}, &sched.Message{Kind: sched.Timeout, Token: 2})
	if len(classes(got)) != 0 {
		t.Errorf("sent %q: three tasks of a tenth of the cutoff ended", classes(got))
	}
	r.unknown(9, 3)
	expect(t, "its long task gives way all the same", r.unknown(10, 1), []string{"0:Preempt 10/0"})

	r = newSorted(t, pigeon.XOptions(), general(2))
	r.unknown(1, 4)
	if sent := fmt.Sprint(classes(r.cutoff())); sent != "[1 long]" {
		t.Errorf("sent %s: nothing of it has ended", sent)
	}
	expectWaiting(t, r, "then", "0 short, 2 long")
}

// The long queue orders undeclared jobs by estimates learned from their own tasks.
func TestLearnedEstimatesOrderTheLongQueue(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(2))
	r.unknown(1, 3)
	r.cutoff() // long: two tasks of a cutoff and none ended, 3 cutoffs
	r.arrives(2, sched.Long, 1, 2000)
	r.arrives(3, sched.Long, 1, 9000)
	r.now += 1000 // two of two cutoffs: 5
	expect(t, "one of two cutoffs comes before it", r.ended(0, 1, 0, 2), []string{"0:Launch 2/0"})
	expect(t, "and it before one of nine", r.ended(0, 2, 0, 2), []string{"0:Launch 1/2"})
}

// docs/policies.md, pigeon-x: "(the total time that they have run, ended or not, + one cutoff)
// / (ended tasks + 1)." The task that has just ended counts once: after 200 of the cutoff of
// 1000 the estimate is (200 + 1000) / 2 = 600, and two such tasks that wait are less than two of
// 650 and more than two of 590.
func TestEndedTaskCountsOnceInTheEstimate(t *testing.T) {
	for declared, want := range map[sched.Time][]string{650: {"0:1/1"}, 590: {"0:2/0"}} {
		r := newSorted(t, pigeon.DefaultOptions(), general(1))
		r.unknown(1, 3)
		began := r.now
		r.job(2, sched.Short, 2, declared)
		r.now = began + 199
		expect(t, fmt.Sprintf("beside two tasks of %d", declared), r.ends(0), want)
	}
}

// Tasks of undeclared jobs that ran for a cutoff are suspended for short ones although
// their worker has suspended another already, four deep; then the smallest comes first.
func TestSeveralSuspended(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(1))
	r.arrives(1, sched.Long, 1, 900_000)
	var got []string
	for job := uint64(2); job <= 6; job++ {
		got = append(got, r.unknown(job, 1)...)
		r.cutoff()
	}
	want := []string{"0:Preempt 2/0", "0:Preempt 3/0", "0:Preempt 4/0", "0:Preempt 5/0"}
	expect(t, "each over the one before", got, want)
	expectWaiting(t, r, "there is no room for more", "1 short, 0 long")
	expect(t, "what waits", r.ended(0, 5, 0, 6, 1, 2, 3, 4), []string{"0:Launch 6/0"})
	r.now += 500
	expect(t, "then the first of the equal ones", r.ended(0, 6, 0, 2, 1, 2, 3, 4), []string{"0:Continue 2/0"})
}

// Each order to suspend names the state of the slot as the orders before it left it.
func TestSlotFollowsOrdersToSuspend(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(1))
	slot := pigeon.NewWorkerWith(sched.WorkerConfig{Self: worker(0), Master: group(1)}, pigeon.XOptions())
	var did []string
	obey := func(actions []sched.Action) {
		for _, a := range actions {
			if a.Kind == sched.Send && a.To == worker(0) {
				did = append(did, actionsOf(slot, &a.Msg))
			}
		}
	}
	for job := range uint64(5) {
		obey(r.step(distributor, &sched.Message{
			Kind: sched.Tasks, Job: sched.JobID{Lo: job + 1}, Count: 1, Attempt: 1, Distributor: distributor, Marks: anyway | sched.Undeclared,
		}))
		obey(r.cutoff())
	}
	want := []string{"[Start]", "[Suspend Start]", "[Suspend Start]", "[Suspend Start]", "[Suspend Start]"}
	if !slices.Equal(did, want) {
		t.Errorf("the slot does %q, want %q", did, want)
	}
}

// "At a master that has been sent an undeclared job, a job that a task showed to be of
// another class than declared is undeclared from then on"
func TestWronglyDeclaredBesideUndeclared(t *testing.T) {
	for _, met := range []bool{false, true} {
		r := newSorted(t, pigeon.XOptions(), general(2))
		if met {
			r.unknown(9, 1)
			r.ended(0, 9, 0, 2)
		}
		r.arrives(1, sched.Long, 2, 5000)
		r.arrives(2, sched.Short, 2, 1)
		r.cutoff()
		want := []string(nil)
		if met {
			want = []string{"0:Preempt 3/0"}
		}
		got := r.arrives(3, sched.Short, 1, 1)
		if len(got) != len(want) || (met && got[0][2:] != want[0][2:]) {
			t.Errorf("undeclared jobs came: %v; over a task declared short that holds another: %q, want %q", met, got, want)
		}
	}
}

// A master that was started again learns the mark from the distributor.
func TestUndeclaredAfterARestart(t *testing.T) {
	r := newSorted(t, pigeon.XOptions())
	r.step(sched.Addr{}, &sched.Message{
		Kind: sched.WorkerUp, Peer: worker(0), Node: "n", Serves: []string{""}, Job: jobOne, Attempt: 1, Distributor: distributor, Seq: 1,
	})
	r.nodes++
	r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: jobOne, Count: 9, Attempt: 1, Distributor: distributor, Arrival: 1, Marks: anyway | sched.Undeclared, Total: 9,
	})
	expectWaiting(t, r, "one runs", "4 short, 4 long")
}
