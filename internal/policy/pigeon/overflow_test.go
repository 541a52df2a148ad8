package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// helped is a sorted rig of master 1 that knows masters 0 to 4.
func helped(t tester, groups ...slots) *rig {
	r := newSorted(t, pigeon.DefaultOptions(), groups...)
	for id := range int32(5) {
		r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(id), Serves: []string{""}})
	}
	return r
}

// moves names the tasks that were handed back for other groups: group:job/task.
func moves(actions []sched.Action) []string {
	list := []string{}
	for _, a := range actions {
		if a.Kind == sched.Send && a.Msg.Kind == sched.Returned && a.Msg.Peer.Role == sched.Master {
			list = append(list, fmt.Sprintf("%d:%d/%d", a.Msg.Peer.ID, a.Msg.Job.Lo, a.Msg.First))
		}
	}
	return list
}

func spare(reserved bool) *sched.Message {
	return &sched.Message{Kind: sched.Spare, Serves: []string{""}, Reserved: reserved}
}

// docs/policies.md, pigeon-sort: "When a worker turns idle and nothing waits that it may take,
// its master sends two random other masters the notice *spare*. A reserved worker announces
// 'short only', the notice names the applications served, and classic slots send
// none."
func TestSpareIsTold(t *testing.T) {
	r := helped(t)
	slot := func(id int32) *sched.Message {
		return &sched.Message{Kind: sched.WorkerUp, Peer: worker(id), Node: "n", Serves: []string{""}}
	}
	r.step(sched.Addr{}, slot(0))
	r.job(1, sched.Long, 1, 1)
	seen := map[int32]bool{}
	for n := uint64(1); n < 100; n++ {
		actions := r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: n})
		var to []int32
		for _, a := range actions {
			if a.Msg.Kind == sched.Spare {
				to = append(to, a.To.ID)
				seen[a.To.ID] = true
				if a.Msg.Reserved || len(a.Msg.Serves) != 1 {
					t.Fatalf("announced %s", sched.Describe(&a.Msg))
				}
			}
		}
		if len(to) != 2 || to[0] == to[1] {
			t.Fatalf("announced masters %v, want two others", to)
		}
		r.job(n+1, sched.Long, 1, 1)
	}
	if len(seen) != 4 || seen[1] {
		t.Errorf("announced %v in all, want every other master", seen)
	}
	classic := helped(t, general(1)) // the rig's slots are of one application's own
	classic.job(1, sched.Long, 1, 1)
	classic.seq[0] = 2
	for _, a := range classic.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 2}) {
		if a.Msg.Kind == sched.Spare {
			t.Errorf("a classic slot is announced: %s", sched.DescribeAction(&a))
		}
	}
}

// Nothing is announced to a master whose flag is set already, once that master has
// announced something itself: before, it may not know this group and ignore notices. A
// flag is announced again when
// a task took it, when the master is another process, and after ten cutoffs.
func TestKnownSpareIsNotTold(t *testing.T) {
	r := helped(t)
	for _, id := range []int32{2, 3, 4} {
		r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: group(id)})
	}
	for id := range int32(3) {
		r.step(sched.Addr{}, &sched.Message{Kind: sched.WorkerUp, Peer: worker(id), Node: "n", Serves: []string{""}})
	}
	jobs := uint64(0)
	announced := func(by []sched.Action) (n int) {
		for _, a := range by {
			if a.Msg.Kind == sched.Spare && a.To == group(0) {
				n++
			}
		}
		return n
	}
	comes := func(m sched.Message) int {
		jobs++
		m.Kind, m.Job, m.Count, m.Attempt, m.Distributor = sched.Tasks, sched.JobID{Lo: jobs}, 1, 1, distributor
		return announced(r.step(distributor, &m))
	}
	ends := func() int {
		for id := range int32(3) {
			if s := r.master.WorkerView(worker(id)); s.Tasks > 0 {
				r.seq[id]++
				return announced(r.step(worker(id), &sched.Message{Kind: sched.Idle, Seq: r.seq[id]}))
			}
		}
		return -1
	}
	ordinary, moved := sched.Message{Class: sched.Long}, sched.Message{Class: sched.Long, Marks: sched.Moved, Peer: group(0)}
	for _, c := range []struct {
		what string
		do   func() int
		want int
	}{
		{"an ordinary task", func() int { return comes(ordinary) + ends() }, 1},
		{"again, no notice received", func() int { return comes(ordinary) + ends() }, 1},
		{"a notice received, so that it knows this group from now on", func() int { return announced(r.step(group(0), spare(true))) + comes(ordinary) + ends() }, 1},
		{"another notice received", func() int { return announced(r.step(group(0), spare(true))) + comes(ordinary) + ends() }, 0},
		{"a task that took the flag", func() int { return comes(moved) }, 1},
		{"its end", ends, 0},
		{"two that took it, one worker left", func() int { return comes(moved) + comes(moved) }, 2},
		{"the last worker is taken", func() int { return comes(moved) }, 0},
		{"one is idle again", ends, 1},
		{"a wait of nine cutoffs", func() int { r.now += 9*1000 - 100; return comes(ordinary) + ends() }, 0},
		{"of ten", func() int { r.now += 1200; return comes(ordinary) + ends() }, 1},
		{"a task that another group sent here", func() int { m := moved; m.Peer = group(4); return comes(m) + ends() }, 0},
		{"another process", func() int {
			r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(0), Serves: []string{""}})
			return comes(ordinary) + ends() + comes(ordinary) + ends()
		}, 2},
	} {
		if got := c.do(); got != c.want {
			t.Errorf("%s: announced %d times, want %d", c.what, got, c.want)
		}
	}
}

// "each hands over the task it would serve next".
func TestSpareIsGivenTheNextTask(t *testing.T) {
	r := helped(t, general(1))
	r.job(9, sched.Short, 1, 1)
	r.job(1, sched.Long, 1, 2000)
	r.job(2, sched.Short, 2, 10)
	r.job(3, sched.Short, 1, 15)
	for _, c := range []struct {
		reserved bool
		want     string
	}{
		{false, "[3:3/0]"}, {true, "[3:2/0]"}, {false, "[3:2/1]"}, {true, "[]"}, {false, "[3:1/0]"}, {false, "[]"},
	} {
		if got := fmt.Sprint(moves(r.step(group(3), spare(c.reserved)))); got != c.want {
			t.Errorf("returned %s, want %s", got, c.want)
		}
	}
	if n := r.master.Queued(); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}

// Of a master whose next task is a long one by W, a spare worker gets that task if it serves it, and
// a short one otherwise: it is not left idle.
func TestSpareWhenALongTaskIsDue(t *testing.T) {
	r := newRig(t, 0)
	r.master = pigeon.NewMasterWith(sched.MasterConfig{Self: group(1), Params: sched.Params{Cutoff: 1000, Weight: 2}}, pigeon.DefaultOptions())
	r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(3), Serves: []string{""}})
	r.up(general(1, ""))
	r.up(general(1, "a"))
	r.tasks(1, sched.Short, 1)
	r.tasksOf("a", 2, sched.Short, 1)
	r.tasks(3, sched.Short, 3)
	r.tasksOf("a", 4, sched.Long, 1)
	want(t, "the short task after which a long one is due", r.ends(0), "0:3/0")
	want(t, "the spare worker does not serve it", moves(r.step(group(3), spare(false))), "3:3/1")
	r.tasks(5, sched.Long, 1)
	want(t, "the spare worker serves another one", moves(r.step(group(3), spare(false))), "3:5/0")
	want(t, "the spare worker then", moves(r.step(group(3), spare(false))), "3:3/2")
}

// "or, having none, keeps one flag for the announcer: an arriving task that finds
// no idle worker takes the first flag, at the masters after its own in number
// order, clears it and moves there." It moves by way of its distributor.
func TestFlags(t *testing.T) {
	r := helped(t, general(1))
	for _, id := range []int32{0, 2, 4, 4} { // the second of 4 adds nothing
		r.step(group(id), spare(id == 2))
	}
	got := r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, Class: sched.Long, Count: 4, Attempt: 1, Distributor: distributor})
	if l, m := fmt.Sprint(launches(got)), fmt.Sprint(moves(got)); l != "[0:1/0]" || m != "[4:1/1 0:1/2]" || r.master.Queued() != 1 {
		t.Errorf("launched %s, moved %s, %d queued", l, m, r.master.Queued())
	}
	got = r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Count: 2, Attempt: 1, Distributor: distributor})
	if m := fmt.Sprint(moves(got)); m != "[2:2/0]" || r.master.Queued() != 2 {
		t.Errorf("moved %s, %d queued", m, r.master.Queued())
	}
}

// "A moved task never moves again", neither at its arrival nor from the queue.
func TestMovedOnce(t *testing.T) {
	r := helped(t, general(1))
	r.job(1, sched.Short, 1, 1)
	r.step(group(0), spare(false))
	got := r.step(distributor, &sched.Message{Kind: sched.Tasks, Marks: sched.Moved, Job: sched.JobID{Lo: 2}, Count: 1, Attempt: 1, Distributor: distributor, Estimate: 1})
	if m := moves(got); len(m) != 0 || r.master.Queued() != 1 {
		t.Errorf("moved on: %q", m)
	}
	if m := moves(r.step(group(3), spare(false))); len(m) != 0 {
		t.Errorf("moved on from the queue: %q", m)
	}
	r.step(worker(0), &sched.Message{Kind: sched.Idle, Seq: 2})
	r.step(worker(0), &sched.Message{Kind: sched.Refused, Job: sched.JobID{Lo: 2}, Attempt: 1, Seq: 3})
	if m := moves(r.step(group(3), spare(false))); len(m) != 0 || r.master.Queued() != 1 {
		t.Errorf("moved on after a refusal: %q", m)
	}
}

// The flag of a lost master is cleared.
func TestFlagOfLostMaster(t *testing.T) {
	r := helped(t, general(1))
	r.job(1, sched.Short, 1, 1)
	r.step(group(2), spare(false))
	r.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: group(2)})
	r.step(group(2), spare(false)) // late
	if got := moves(r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 2}, Count: 1, Attempt: 1, Distributor: distributor})); len(got) != 0 {
		t.Errorf("moved %q", got)
	}
}
