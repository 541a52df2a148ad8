package nodes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// shown returns how a node is shown to users, the zero value when it is not.
func (g *group) shown(name string) (all []api.Node) {
	list, _, _ := g.Status(func(sched.Addr) sched.WorkerView { return sched.WorkerView{Tasks: sched.Unknown} })
	for _, n := range append(list, g.Departed(time.Hour)...) {
		if n.ID == name {
			all = append(all, n)
		}
	}
	return all
}

// silence lets the given time pass without a message of any node.
func (g *group) silence(d sched.Time) {
	for end := g.now + d; g.now < end; {
		g.now += sched.Second / 4
		g.Sweep()
	}
}

// A node that is not up is shown with the reason and for how long it has been so: while it
// cannot be reached, when it is lost, and when it was stopped. It is not shown twice when it
// returns, and not any more after an hour.
func TestDepartedNodes(t *testing.T) {
	g := newGroup(pigeon.Policy())
	ref := wire.Ref{Role: sched.Worker, Name: "a"}
	check := func(what, state, reason string, seconds float64) {
		t.Helper()
		switch all := g.shown("a"); {
		case len(all) != 1:
			t.Errorf("%s: it is shown %d times: %+v", what, len(all), all)
		case all[0].State != state || !strings.Contains(all[0].Reason, reason) || (reason == "") != (all[0].Reason == "") || all[0].StateSeconds != seconds || all[0].Up != (state == api.StateUp) || all[0].Version != "v1.2.3":
			t.Errorf("%s: it is shown as %+v, want %s for %v s: %s", what, all[0], state, seconds, reason)
		}
	}
	register := func(incarnation int64) {
		t.Helper()
		h := hello("a", incarnation, "h:1", 0, 0)
		h.Version = "v1.2.3"
		if a, err := g.Hello(h); err != nil || a.Problem != "" {
			t.Fatal(a, err)
		}
	}
	register(1)
	g.now += 3 * sched.Second
	check("registered", api.StateUp, "", 3)
	g.Snapshot(&wire.Snapshot{Sender: ref, Incarnation: 1, Slots: hello("a", 1, "h:1", 0, 0).Slots})
	g.LinkState(ref, link.State{Status: link.Down, Err: errors.New("connection refused")})
	g.now += sched.Second
	check("out of reach", api.StateUnreachable, "connection refused", 1)
	g.silence(2 * sched.Second)
	g.now += sched.Second
	check("lost", api.StateLost, "it was silent for 2s: connection refused", 2)

	register(2)
	check("it returned", api.StateUp, "", 0)
	g.Snapshot(&wire.Snapshot{Sender: ref, Incarnation: 2, Stopping: true})
	g.now += sched.Second
	check("stopping", api.StateStopped, "stopped in order", 1)
	g.silence(3 * sched.Second)
	check("stopped", api.StateStopped, "stopped in order", 4)
	g.now += 3590 * sched.Second
	check("almost an hour ago", api.StateStopped, "stopped in order", 3594)
	g.now += 6 * sched.Second
	if all := g.shown("a"); len(all) != 0 {
		t.Errorf("an hour later it is shown as %+v", all)
	}
}

// A node that drains says why: it was told to, also when its node monitor is started again, its node
// monitor is stopping, or its disk is at fault.
func TestReasonOfDrainingNode(t *testing.T) {
	g := newGroup(pigeon.Policy())
	check := func(what, state, reason string) {
		t.Helper()
		if all := g.shown("a"); len(all) != 1 || all[0].State != state || all[0].Reason != reason {
			t.Errorf("%s: it is shown as %+v, want %s: %s", what, all, state, reason)
		}
	}
	report := func(incarnation int64, stops bool, slots ...wire.Slot) {
		t.Helper()
		if problem := g.Snapshot(&wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "a"}, Incarnation: incarnation, Slots: slots, Draining: true, StopsWhenEmpty: stops}); problem != "" {
			t.Fatal(problem)
		}
	}
	const (
		told     = "it was told to drain; it takes nothing until 'pigeon nodes resume' ends that, also when its node monitor is started again"
		stopping = "its node monitor is stopping; it takes nothing new, and what runs there ends"
	)
	h := hello("a", 1, "h:1", 0)
	if a, err := g.Hello(h); err != nil || a.Problem != "" {
		t.Fatal(a, err)
	}
	report(1, false, h.Slots...)
	check("while a task runs there", api.StateDraining, told)
	report(1, false)
	check("when nothing is left", api.StateDrained, told)
	if problem := g.Snapshot(&wire.Snapshot{Sender: wire.Ref{Role: sched.Worker, Name: "a"}, Incarnation: 1, Draining: true, Present: wire.Present{Applications: []string{"app"}, Executors: 2}}); problem != "" {
		t.Fatal(problem)
	}
	check("while executors run there", api.StateDraining, told)
	if n := g.shown("a")[0]; n.Executors != 2 || !slices.Equal(n.Apps, []string{"app"}) {
		t.Errorf("a node with two executors shows %+v", n)
	}
	report(1, true, h.Slots...)
	check("while it stops", api.StateDraining, stopping)
	again := hello("a", 2, "h:1")
	again.Draining = true
	if a, err := g.Hello(again); err != nil || a.Problem != "" {
		t.Fatal(a, err)
	}
	check("when it is started again", api.StateDrained, told)

	faulty := hello("a", 2, "h:1")
	faulty.Draining, faulty.DiskFault = true, "no space left on device"
	const disk = "it takes tasks again by itself once this is over: "
	if a, err := g.Hello(faulty); err != nil || a.Problem != "" {
		t.Fatal(a, err)
	}
	check("while its disk is full", api.StateDrained, disk+"no space left on device")
	s := wire.Snapshot{Sender: faulty.Sender, Incarnation: 2, Draining: true, DiskFault: "input/output error"}
	if problem := g.Snapshot(&s); problem != "" {
		t.Fatal(problem)
	}
	check("when it is broken for another reason", api.StateDrained, disk+"input/output error")
	s.DiskFault = ""
	if problem := g.Snapshot(&s); problem != "" {
		t.Fatal(problem)
	}
	check("when it was told to drain meanwhile", api.StateDrained, told)
}

// A node whose hello is refused is shown while it keeps trying, in addition to the registered
// one of its name; a registered node cannot be forgotten, a departed one can, once.
func TestForgetNode(t *testing.T) {
	g := newGroup(pigeon.Policy())
	if _, err := g.Hello(hello("a", 1, "h:1", 0)); err != nil {
		t.Fatal(err)
	}
	other := hello("a", 2, "h:2", 0)
	a, err := g.Hello(other)
	if err != nil || a.Problem == "" {
		t.Fatalf("the second node of a name is answered %+v, %v", a, err)
	}
	g.Refused(other, a.Problem)
	if all := g.shown("a"); len(all) != 2 || all[1].Address != "h:2" || !strings.Contains(all[1].Reason, "give one of them another id") {
		t.Errorf("they are shown as %+v", all)
	}
	forgotten, err := g.ForgetDeparted("a")
	told, _ := errors.AsType[*api.Error](err)
	if forgotten || told == nil || told.Problem != api.Invalid || told.What == "" || told.Subject == "" || told.Tried == "" || told.Next == "" {
		t.Errorf("forgetting a registered node: %v, %v", forgotten, err)
	}
	g.now += 61 * sched.Second
	if all := g.shown("a"); len(all) != 1 {
		t.Errorf("a minute after its last hello the refused node is shown: %+v", all)
	}
	g.silence(3 * sched.Second)
	for i, want := range []bool{true, false} {
		if forgotten, err := g.ForgetDeparted("a"); forgotten != want || err != nil || len(g.shown("a")) != 0 {
			t.Errorf("%d: forgetting a lost node: %v, %v; it is shown as %+v", i, forgotten, err, g.shown("a"))
		}
	}
}
