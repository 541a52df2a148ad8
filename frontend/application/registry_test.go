package application

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// cluster is a registry with nodes that carry out their orders: each holds the executors
// that its accepted orders state, as a node monitor would.
type cluster struct {
	*registry
	t           *testing.T
	now         time.Time
	holds       map[string]*wire.Holdings
	unreachable map[string]bool // nodes that orders do not reach
	measured    bool            // nodes state the memory that is in use
}

func newCluster(t *testing.T, nodes ...string) *cluster {
	d := &cluster{registry: newRegistry("f1", "f1:1", 15*time.Second), t: t, now: time.Unix(1000, 0), holds: map[string]*wire.Holdings{}, unreachable: map[string]bool{}}
	for _, name := range nodes {
		d.join(name, 1)
	}
	return d
}

// join puts a node on the membership.
func (d *cluster) join(name string, incarnation int64) {
	d.nodes[name] = &node{name: name, host: "host-" + name, incarnation: incarnation, memory: 1000, slots: 100, wake: make(chan struct{}, 1), stop: func() {}}
	d.holds[name] = &wire.Holdings{Incarnation: incarnation, Memory: 1000}
}

// round carries orders to nodes, and their holdings back, until nothing is due.
func (d *cluster) round() {
	d.t.Helper()
	for range 20 {
		d.now = d.now.Add(time.Millisecond)
		for _, name := range sortedNodes(d.holds) {
			for _, id := range sortedApps(d.apps) {
				if a := d.apps[id]; a != nil && !d.unreachable[name] {
					if o := d.order(a, name); o != nil {
						d.orderAnswered(o, name, d.obey(name, o), d.now)
					}
				}
			}
		}
		d.now = d.now.Add(time.Millisecond)
		if d.measured {
			d.measure()
		}
		for _, name := range sortedNodes(d.holds) {
			if d.nodes[name] != nil {
				d.applyHoldings(name, d.holds[name], d.now, d.now)
			}
		}
	}
}

func sortedNodes(m map[string]*wire.Holdings) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func sortedApps(m map[string]*application) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// obey applies an order as a node monitor does.
func (d *cluster) obey(name string, o *wire.Order) wire.OrderReply {
	h := d.holds[name]
	at := slices.IndexFunc(h.Applications, func(a wire.HeldApplication) bool { return a.ID == o.Application.ID })
	if at < 0 {
		h.Applications = append(h.Applications, wire.HeldApplication{ID: o.Application.ID, Incarnation: o.Application.Incarnation})
		at = len(h.Applications) - 1
	}
	v := &h.Applications[at]
	if v.Incarnation != o.Application.Incarnation || o.Tenure < v.Tenure || o.Tenure == v.Tenure && v.Frontend != o.Frontend {
		return wire.OrderReply{Tenure: v.Tenure, Frontend: v.Frontend, Incarnation: v.Incarnation}
	}
	v.Tenure, v.Frontend, v.Sequence = o.Tenure, o.Frontend, o.Sequence
	if o.Over {
		h.Applications = slices.Delete(h.Applications, at, at+1)
		return wire.OrderReply{Accepted: true, Tenure: o.Tenure, Frontend: o.Frontend, Incarnation: o.Application.Incarnation}
	}
	for i := range v.Executors {
		if x := &v.Executors[i].State; x.State == api.ExecutorRunning && !slices.Contains(o.Executors, x.ID) {
			x.State, x.Reason = api.ExecutorExited, "it was stopped"
		}
	}
	for _, id := range o.Executors {
		v.Last = max(v.Last, number(id))
		if !slices.ContainsFunc(v.Executors, func(x wire.HeldExecutor) bool { return x.State.ID == id }) {
			v.Executors = append(v.Executors, wire.HeldExecutor{State: api.ExecutorState{ID: id, Node: name, State: api.ExecutorRunning}, Slots: 2})
		}
	}
	return wire.OrderReply{Accepted: true, Tenure: o.Tenure, Frontend: o.Frontend, Incarnation: v.Incarnation}
}

// held returns an executor at a node, to be changed.
func (d *cluster) held(name, id string) *wire.HeldExecutor {
	d.t.Helper()
	for i := range d.holds[name].Applications {
		list := d.holds[name].Applications[i].Executors
		for j := range list {
			if list[j].State.ID == id {
				return &list[j]
			}
		}
	}
	d.t.Fatalf("node %s does not hold executor %s: %+v", name, id, d.holds[name])
	return nil
}

// serve registers an application that wants the given number of executors.
func (d *cluster) serve(executors int) *application {
	d.t.Helper()
	r := api.Application{ID: "app", Incarnation: 7, Grants: true, Template: api.Template{Argv: []string{"x"}, Memory: 300, Slots: 1}}
	if err := d.register(&r, d.now); err != nil {
		d.t.Fatal(err)
	}
	a := d.apps["app"]
	a.filesReady = true
	d.wants(executors)
	return a
}

func (d *cluster) wants(executors int, levels ...api.Level) {
	d.t.Helper()
	a, err := d.lookup("app", 7, d.now)
	if err != nil {
		d.t.Fatal(err)
	}
	d.want(a, &api.Wants{Application: "app", Incarnation: 7, Sequence: a.wants.Sequence + 1, Executors: executors, Levels: levels}, func(l *api.Level) (sched.Class, string) {
		if l.Class == "long" {
			return sched.Long, "declared"
		}
		return sched.Short, "default"
	}, d.now)
	d.round()
}

// show returns the executors as "id@node state", with the last state of each.
func (d *cluster) show(a *application) string {
	var list []string
	for _, s := range a.updates.states {
		list = append(list, fmt.Sprintf("%s@%s %s", s.ID, s.Node, s.State))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func (d *cluster) wantStates(a *application, want string) {
	d.t.Helper()
	if got := d.show(a); got != want {
		d.t.Errorf("executors %q, want %q", got, want)
	}
}

func TestExecutorsWanted(t *testing.T) {
	d := newCluster(t, "a", "b")
	a := d.serve(3)
	d.wantStates(a, "1@a running, 2@b running, 3@a running")
	d.wants(2) // wanting fewer does not stop running ones
	d.wantStates(a, "1@a running, 2@b running, 3@a running")
	a.wants.Stop = nil
	d.want(a, &api.Wants{Sequence: 99, Executors: 2, Stop: []string{"1"}}, nil, d.now)
	d.round()
	d.wantStates(a, "1@a exited, 2@b running, 3@a running")
	d.want(a, &api.Wants{Sequence: 98, Executors: 9}, nil, d.now) // an older state
	d.round()
	if len(a.executors.byID) != 2 {
		t.Errorf("%d executors", len(a.executors.byID))
	}
}

// An application with one executor on every node also gets one on nodes that join
// later, and none on a node without enough memory.
func TestEveryNode(t *testing.T) {
	d := newCluster(t, "a", "b")
	d.nodes["b"].memory, d.holds["b"].Memory = 100, 100
	a := d.serve(api.EveryNode)
	d.wantStates(a, "1@a running")
	d.join("c", 1)
	d.round()
	d.wantStates(a, "1@a running, 2@c running")
	e := newCluster(t)
	b := e.serve(api.EveryNode)
	e.now = e.now.Add(3 * time.Second)
	e.tick(e.now)
	e.wantStates(b, "@ waiting")
	version := b.updates.version
	for range 10 {
		e.tick(e.now)
	}
	if b.updates.version != version {
		t.Error("its waiting is reported repeatedly")
	}
	e.join("a", 1)
	e.round()
	e.wantStates(b, "1@a running")
}

// No executor is started before the files have arrived and the holdings are known.
func TestNothingStartsBeforeFilesAndHoldings(t *testing.T) {
	d := newCluster(t)
	a := d.serve(1)
	d.wantStates(a, "")
	d.join("a", 1)
	a.filesReady = false
	d.round()
	d.wantStates(a, "")
	a.filesReady = true
	d.round()
	d.wantStates(a, "1@a running")
}

// An executor that ends by itself is replaced after a pause; ten ends in a row are
// final.
func TestExitedExecutorIsReplaced(t *testing.T) {
	d := newCluster(t, "a")
	a := d.serve(1)
	for n := 1; n <= maxFailures; n++ {
		x := d.held("a", fmt.Sprint(n))
		x.State.State, x.State.Reason, x.State.ExitStatus = api.ExecutorExited, "it exited with status 3", 3
		d.round()
		d.now = d.now.Add(lastPause)
		d.tick(d.now)
		d.round()
		a.lastContact = d.now
	}
	last := a.updates.states[len(a.updates.states)-1]
	if last.ID != "10" || !last.Final || len(a.executors.byID) != 0 || !strings.Contains(a.updates.notes[0].text, "10 executors in a row") {
		t.Errorf("%+v, notes %v", last, a.updates.notes)
	}
}

// An executor that has run well resets the count also when it was stopped, as Spark stops those
// that are idle.
func TestStoppedExecutorThatRanResetsTheCount(t *testing.T) {
	d := newCluster(t, "a")
	a := d.serve(1)
	for n := 1; n <= 2*maxFailures; n++ {
		id := fmt.Sprint(n)
		x := d.held("a", id)
		if n == maxFailures {
			x.Ran = wellAfter
			d.want(a, &api.Wants{Application: "app", Incarnation: 7, Sequence: a.wants.Sequence + 1, Executors: 1, Stop: []string{id}}, nil, d.now)
		} else {
			x.State.State, x.State.Reason, x.State.ExitStatus = api.ExecutorExited, "it exited with status 3", 3
		}
		d.round()
		if n == maxFailures && a.executors.restarts.failures != 0 {
			t.Errorf("%d failures in a row after an executor that ran for %v", a.executors.restarts.failures, wellAfter)
		}
		d.now = d.now.Add(lastPause)
		d.tick(d.now)
		d.round()
		a.lastContact = d.now
		if last := a.updates.states[len(a.updates.states)-1]; last.Final != (n == 2*maxFailures) {
			t.Fatalf("executor %d: %+v", n, last)
		}
	}
}

// Executors that their node has stopped, because it drains, are replaced without being counted.
func TestExecutorsStoppedByTheirNode(t *testing.T) {
	d := newCluster(t, "a")
	a := d.serve(1)
	for n := 1; n <= 2*maxFailures; n++ {
		x := d.held("a", fmt.Sprint(n))
		x.State.State, x.State.Reason, x.State.ExitStatus = api.ExecutorExited, "it was stopped: its node drains, and it has not begun", -1
		d.round()
		d.tick(d.now)
		d.round()
		a.lastContact = d.now
	}
	if last := a.updates.states[len(a.updates.states)-1]; last.Final || len(a.executors.byID) != 1 || a.executors.restarts.failures != 0 {
		t.Errorf("%+v, %d executors, %d failures", last, len(a.executors.byID), a.executors.restarts.failures)
	}
}

// A restarted node monitor holds nothing: its executors are replaced at once.
func TestNodeMonitorRestarted(t *testing.T) {
	d := newCluster(t, "a", "b")
	a := d.serve(2)
	d.join("a", 2)
	d.round()
	d.wantStates(a, "1@a exited, 2@b running, 3@a running")
	if a.executors.restarts.failures != 0 {
		t.Error("the restart of a node counts as a failure of the application")
	}
	d.nodeLost("b", d.now)
	delete(d.holds, "b")
	d.round()
	d.wantStates(a, "1@a exited, 2@b exited, 3@a running, 4@a running")
}

// A live node that was declared lost stops its executors when it returns: others have
// replaced them.
func TestLostNodeReturns(t *testing.T) {
	d := newCluster(t, "a", "b")
	a := d.serve(2)
	before := d.holds["a"]
	d.nodeLost("a", d.now)
	delete(d.holds, "a")
	d.round()
	d.wantStates(a, "1@a exited, 2@b running, 3@b running")
	d.join("a", 1)
	d.holds["a"] = before
	d.round()
	if x := d.held("a", "1").State.State; x != api.ExecutorExited {
		t.Errorf("executor 1 is %s", x)
	}
	d.wantStates(a, "1@a exited, 2@b running, 3@b running")
}

// The node ended the executors because its lease expired while this frontend was
// paused: the order is repeated and starts others.
func TestNodeLeaseExpired(t *testing.T) {
	d := newCluster(t, "a")
	a := d.serve(1)
	d.holds["a"].Applications = nil
	d.round()
	d.wantStates(a, "1@a exited, 2@a running")
}

func TestTakeover(t *testing.T) {
	d := newCluster(t, "a", "b")
	d.holds["a"].Applications = []wire.HeldApplication{{ID: "app", Incarnation: 7, Frontend: "f2", Tenure: 4, Last: 9, Executors: []wire.HeldExecutor{
		{State: api.ExecutorState{ID: "8", Node: "a", State: api.ExecutorExited}}, {State: api.ExecutorState{ID: "9", Node: "a", State: api.ExecutorRunning}},
	}}}
	a := d.serve(2)
	d.wantStates(a, "10@b running, 9@a running")
	if a.orders.tenure != 5 || d.holds["a"].Applications[0].Frontend != "f1" {
		t.Errorf("tenure %d; the node has %+v", a.orders.tenure, d.holds["a"].Applications[0])
	}
	// A third frontend takes it over: this one forgets it, and stops nothing.
	d.wants(2, api.Level{Name: "l", Total: 3})
	d.effects = effects{orders: map[string]bool{}}
	d.holds["b"].Applications[0].Tenure, d.holds["b"].Applications[0].Frontend = 6, "f3"
	d.round()
	if d.apps["app"] != nil || len(d.effects.withdraw) != 1 {
		t.Errorf("%+v, cancelled %v", d.apps["app"], d.effects.withdraw)
	}
	if x := d.held("b", "10").State.State; x != api.ExecutorRunning {
		t.Errorf("its executor is %s", x)
	}
}

func TestSecondProcessWithTheSameID(t *testing.T) {
	d := newCluster(t, "a")
	d.serve(1)
	other := api.Application{ID: "app", Incarnation: 8}
	if err := d.register(&other, d.now); err == nil || !strings.Contains(err.Error(), "another process with this id is alive") {
		t.Error(err)
	}
	// When it is registered with another frontend, the nodes report it.
	e := newCluster(t, "a")
	e.holds["a"].Applications = []wire.HeldApplication{{ID: "app", Incarnation: 8, Frontend: "f2", Tenure: 1}}
	e.serve(1)
	_, err := e.lookup("app", 7, e.now)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Problem != api.Invalid || !strings.Contains(err.Error(), "frontend f2") {
		t.Error(err)
	}
}

// Applications and nodes that could not reach this frontend because it was stopped have not
// been silent.
func TestOwnPauseIsNotTheSilenceOfOthers(t *testing.T) {
	d := newCluster(t, "a", "b")
	a := d.serve(2)
	d.nodes["b"].missingSince = d.now
	d.now = d.now.Add(time.Minute)
	d.postpone(time.Minute-time.Second, d.now)
	d.tick(d.now)
	if a.ended != "" || d.nodes["b"] == nil {
		t.Errorf("ended %q; node b is known: %v", a.ended, d.nodes["b"] != nil)
	}
}

// A silent application has ended: orders are repeated until its nodes accept them,
// then it is forgotten.
func TestSilentApplicationEnds(t *testing.T) {
	d := newCluster(t, "a", "b")
	a := d.serve(2)
	d.unreachable["b"] = true
	d.now = d.now.Add(16 * time.Second)
	d.tick(d.now)
	d.round()
	if a.ended == "" || d.apps["app"] == nil || len(d.holds["a"].Applications) != 0 {
		t.Errorf("ended %q; node a has %+v", a.ended, d.holds["a"].Applications)
	}
	if _, err := d.lookup("app", 7, d.now); err == nil {
		t.Error("it is served")
	}
	d.unreachable["b"] = false
	d.round()
	if d.apps["app"] != nil || len(d.holds["b"].Applications) != 0 {
		t.Error("it is not forgotten")
	}
}

// An executor that a node refuses is tried elsewhere; one that all nodes refuse for
// good is final.
func TestRefusedExecutor(t *testing.T) {
	d := newCluster(t, "a", "b")
	a := d.serve(0)
	d.unreachable["a"], d.unreachable["b"] = true, true
	d.wants(1)
	refuse := func(name string) {
		d.t.Helper()
		h := d.holds[name]
		for _, p := range a.executors.byID {
			h.Applications = []wire.HeldApplication{{ID: "app", Incarnation: 7, Frontend: "f1", Tenure: 1, Executors: []wire.HeldExecutor{
				{Refused: true, State: api.ExecutorState{ID: p.id, Node: name, State: api.ExecutorExited, Reason: "no Java on " + name}},
			}}}
		}
		d.applyHoldings(name, h, d.now, d.now)
	}
	refuse("a")
	d.wantStates(a, "1@a exited")
	refuse("b")
	last := a.updates.states[len(a.updates.states)-1]
	if !last.Final || !strings.Contains(last.Reason, "no Java on a") || !strings.Contains(last.Reason, "no Java on b") {
		t.Errorf("%+v", last)
	}
}

// The jobs of a level that is no longer stated are cancelled; jobs have the class of
// their level.
func TestLevels(t *testing.T) {
	d := newCluster(t, "a")
	a := d.serve(1)
	d.wants(1, api.Level{Name: "x", Total: 3, Class: "long"}, api.Level{Name: "y", Total: 2})
	if g := d.effects.submit; len(g) != 2 || g[0].Tasks != 3 || g[0].Class != sched.Long || g[1].Tasks != 2 || g[0].App != "app" || g[0].Level != "x" || g[0].Key == g[1].Key {
		t.Errorf("%+v", g)
	}
	x := d.effects.submit[0].Key
	d.apps["app"].jobs.taskEnded("x", x, true) // it never reached the application: another one is submitted
	if g := d.effects.submit; len(g) != 3 || g[2].Tasks != 1 || g[2].Level != "x" {
		t.Errorf("%+v", g)
	}
	d.wants(1, api.Level{Name: "y", Total: 2})
	if c := d.effects.withdraw; len(c) != 2 || !slices.Contains(c, withdrawal{key: x}) || a.jobs.levels["x"] != nil {
		t.Errorf("%v", c)
	}
	d.end(a, "test")
	if len(d.effects.withdraw) != 3 {
		t.Errorf("%v", d.effects.withdraw)
	}
}
