package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// newFrontendX is newFrontend under pigeon-x.
func newFrontendX(t tester, groups int) *frontend {
	f := &frontend{t: t, core: pigeon.NewDistributorWith(sched.DistributorConfig{Self: distributor, Seed: 1}, pigeon.XOptions())}
	for g := range groups {
		f.up(int32(g), "")
	}
	return f
}

// moving submits a job of three tasks to three groups and returns the group of task 0
// and another one, and the message with which the one hands the task over.
func (f *frontend) moving() (from, to sched.Addr, back *sched.Message) {
	f.t.Helper()
	got := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 3}))
	if len(got) != 3 {
		f.t.Fatalf("sent %v", got)
	}
	from, to = got[0].To, got[1].To
	return from, to, &sched.Message{Kind: sched.Returned, Job: jobOne, Count: 1, Attempt: 1, Peer: to}
}

func (f *frontend) task(n int) ledger.Task { return f.core.Ledger().Job(jobOne).Tasks[n] }

// A task that a group hands back for the spare worker of another goes there with the
// mark that it has moved, now and whenever it is sent again; a repeated message does
// nothing.
func TestMoveByWayOfTheDistributor(t *testing.T) {
	f := newFrontend(t, 3)
	from, to, back := f.moving()
	out := f.step(from, back)
	if len(out) != 2 || out[0].Kind != sched.Persist || out[0].Msg.Kind != sched.Placed || out[0].Msg.Peer != to || out[0].Msg.Marks != sched.Moved {
		t.Fatalf("does %v", out)
	}
	m := out[1].Msg
	if out[1].To != to || m.Kind != sched.Tasks || m.First != 0 || m.Count != 1 || m.Attempt != 1 || !m.Marks.Has(sched.Moved) || m.Peer != from || m.Head {
		t.Fatalf("sends %s", sched.DescribeAction(&out[1]))
	}
	if again := f.step(from, back); len(again) != 0 {
		t.Errorf("the second time it does %v", again)
	}
	resent := sent(f.up(to.ID, ""))
	if len(resent) != 2 || !resent[0].Msg.Marks.Has(sched.Moved) || resent[1].Msg.Marks.Has(sched.Moved) {
		t.Errorf("sends again %v", resent)
	}
	drops := ""
	for _, a := range f.step(sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: jobOne}) {
		if a.Msg.Kind == sched.Drop {
			drops += fmt.Sprint(" ", a.To.ID)
		}
	}
	if want := fmt.Sprintf(" %d %d", to.ID, 3-from.ID-to.ID); drops != want {
		t.Errorf("a cancel goes to groups%s, want%s", drops, want)
	}
}

// Whichever of the two groups is lost in the middle, the task has one place.
func TestMoveBetweenGroupsThatAreLost(t *testing.T) {
	f := newFrontend(t, 3)
	from, _, back := f.moving()
	f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: from})
	f.pass(4 * sched.Second)
	if got := sent(f.step(from, back)); len(got) != 0 || f.task(0).Attempt != 2 {
		t.Errorf("a task that was taken back moves: %v", got)
	}

	f = newFrontend(t, 3)
	from, to, back := f.moving()
	f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: to})
	if got := sent(f.step(from, back)); len(got) != 1 || got[0].To == to || !got[0].Msg.Marks.Has(sched.Moved) {
		t.Errorf("a task for a group that is lost: %v", got)
	}

	f = newFrontend(t, 3)
	from, to, back = f.moving()
	f.step(from, back)
	f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: to})
	got := sent(f.pass(4 * sched.Second))
	if f.task(0).Attempt != 2 || f.task(0).Place == int16(to.ID) || len(got) == 0 {
		t.Errorf("after the loss of the group that it moved to it is %+v; sent %v", f.task(0), got)
	}
}

// A group that hands a task back for a group that is lost does not get it again in the same
// step: the message may come twice in a row, and what the second one returned would be
// started at both places.
func TestMoveToLostGroupIsRepeated(t *testing.T) {
	for groups := 2; groups <= 3; groups++ {
		f := newFrontend(t, groups)
		from := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 2}))[0].To
		to := group(int32(groups-1) - from.ID)
		if to == from {
			to = group(0)
		}
		f.step(sched.Addr{}, &sched.Message{Kind: sched.MasterLost, Peer: to})
		back := &sched.Message{Kind: sched.Returned, Job: jobOne, Count: 1, Attempt: 1, Peer: to}
		first, second := sent(f.step(from, back)), sent(f.step(from, back))
		if len(first) != groups-2 || len(second) != 0 {
			t.Errorf("%d groups: sends %v, and the second time %v", groups, first, second)
		}
		for _, a := range first {
			if a.To == from || a.To == to {
				t.Errorf("%d groups: group %d gets a task of group %d that was for group %d", groups, a.To.ID, from.ID, to.ID)
			}
		}
		later := sent(f.pass(100 * sched.Millisecond))
		if groups == 2 && (len(later) != 1 || later[0].To != from || !later[0].Msg.Marks.Has(sched.Moved)) {
			t.Errorf("later sends %v", later)
		}
	}
}

// A task that moved is known to have moved after a restart.
func TestMoveIsJournaled(t *testing.T) {
	f := newFrontend(t, 0)
	for _, m := range []sched.Message{
		{Kind: sched.Submit, Job: jobOne, Count: 3, Resent: true},
		{Kind: sched.Placed, Job: jobOne, Count: 3, Attempt: 1, Peer: group(0)},
		{Kind: sched.Placed, Job: jobOne, First: 1, Count: 1, Attempt: 1, Peer: group(1), Marks: sched.Moved},
		{Kind: sched.Reclass, Job: jobOne, Class: sched.Long},
		{Kind: sched.Restored},
	} {
		f.step(sched.Addr{}, &m)
	}
	f.up(1, "")
	f.step(group(1), &sched.Message{Kind: sched.Holding})
	got := sent(f.pass(2 * sched.Second))
	if len(got) < 1 || got[0].To != group(1) || got[0].Msg.First != 1 || got[0].Msg.Marks != sched.Moved || got[0].Msg.Class != sched.Long {
		t.Errorf("sent %v", got)
	}
}

// The canary is task 0 of a job declared long, in its first attempt, as long as no
// task has shown another class.
func TestCanaryIsMarked(t *testing.T) {
	submit := &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 4, Class: sched.Long, Marks: anyway}
	canaries := func(list []sched.Action) (n int) {
		for _, a := range list {
			if a.Msg.Marks.Has(sched.Canary) {
				if a.Msg.First != 0 {
					t.Errorf("a canary in %s", sched.Describe(&a.Msg))
				}
				n++
			}
		}
		return n
	}
	f := newFrontendX(t, 2)
	if n := canaries(sent(f.step(sched.Addr{}, submit))); n != 1 {
		t.Errorf("%d canaries, want 1", n)
	}
	place := int32(f.task(0).Place)
	if n := canaries(sent(f.up(place, ""))); n != 1 {
		t.Errorf("sent again: %d canaries, want 1", n)
	}
	f.step(group(place), &sched.Message{Kind: sched.Reclass, Job: jobOne, Class: sched.Short})
	f.step(group(place), &sched.Message{Kind: sched.Reclass, Job: jobOne, Class: sched.Long})
	if n := canaries(sent(f.up(place, ""))); n != 0 {
		t.Errorf("after it was promoted and demoted: %d canaries", n)
	}
	if n := canaries(sent(newFrontend(t, 2).step(sched.Addr{}, submit))); n != 0 {
		t.Errorf("without the option: %d canaries", n)
	}
	short := *submit
	short.Class = sched.Short
	if n := canaries(sent(newFrontendX(t, 2).step(sched.Addr{}, &short))); n != 0 {
		t.Errorf("of a short job: %d canaries", n)
	}
}

// A class that a task showed is journaled and sent to the groups that hold unfinished
// tasks of the job, once; a job does not change back and forth.
func TestReclass(t *testing.T) {
	f := newFrontendX(t, 3)
	got := sent(f.step(sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: jobOne, Count: 3, Class: sched.Long}))
	f.step(worker(0), &sched.Message{Kind: sched.Report, Job: jobOne, First: 2, Attempt: 1, Outcome: sched.Done})
	for i, c := range []struct {
		class sched.Class
		news  bool
	}{{sched.Long, false}, {sched.Short, true}, {sched.Short, false}, {sched.Long, true}, {sched.Short, false}, {sched.Long, false}} {
		var want []string
		if c.news {
			want = []string{"Persist Reclass", fmt.Sprintf("Reclass to %d", got[0].To.ID), fmt.Sprintf("Reclass to %d", got[1].To.ID)}
		}
		var does []string
		for _, a := range f.step(got[0].To, &sched.Message{Kind: sched.Reclass, Job: jobOne, Class: c.class}) {
			if a.Kind == sched.Persist {
				does = append(does, "Persist "+a.Msg.Kind.String())
			} else {
				does = append(does, fmt.Sprintf("%s to %d", a.Msg.Kind, a.To.ID))
			}
		}
		if fmt.Sprint(does) != fmt.Sprint(want) {
			t.Errorf("%d, %s: does %q, want %q", i, c.class, does, want)
		}
	}
}
