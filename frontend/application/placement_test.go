package application

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The reason for waiting lists the users of the memory of each node.
func TestRefusalListsMemoryUsers(t *testing.T) {
	d := newCluster(t, "a")
	d.serve(3) // 900 MB of the node's 1000
	d.round()
	d.nodes["a"].used = 950 // 50 of an application of another frontend
	b := api.Application{ID: "late", Incarnation: 1, Grants: true, Template: api.Template{Argv: []string{"x"}, Memory: 200}}
	if err := d.register(&b, d.now); err != nil {
		t.Fatal(err)
	}
	why := d.newPlacement(d.now).refusal(d.apps["late"], 2)
	for _, part := range []string{`2 executors of 200 MB each of application "late"`, `node "a" has 1000 MB`, "950 MB of them in use (app 900 MB, applications of other frontends 50 MB)", "give executors less memory"} {
		if !strings.Contains(why, part) {
			t.Errorf("%q does not contain %q", why, part)
		}
	}
}

// An executor that is lost with its node is not a failure of its application.
func TestLostNodeIsNotAFailure(t *testing.T) {
	d := newCluster(t, "a")
	a := d.serve(1)
	d.round()
	d.nodeLost("a", d.now)
	state := a.updates.states[0] // another one waits, which is reported too
	if state.State != api.ExecutorExited || state.ExitStatus != -1 {
		t.Errorf("%+v", state)
	}
}

// A tick over many applications on many nodes happens ten times a second.
func BenchmarkTick(b *testing.B) {
	const nodes, apps = 100, 300
	d := &cluster{registry: newRegistry("f1", "f1:1", time.Hour), t: &testing.T{}, now: time.Unix(1000, 0), holds: map[string]*wire.Holdings{}, unreachable: map[string]bool{}}
	for i := range nodes {
		d.join(fmt.Sprint("node-", i), 1)
		d.nodes[fmt.Sprint("node-", i)].holdingsKnown = true
	}
	for i := range apps {
		id := fmt.Sprint("app-", i)
		a := api.Application{ID: id, Incarnation: 7, Grants: true, Template: api.Template{Argv: []string{"x"}, Memory: 1}}
		if err := d.register(&a, d.now); err != nil {
			b.Fatal(err)
		}
		d.apps[id].filesReady = true
		d.want(d.apps[id], &api.Wants{Application: id, Incarnation: 7, Sequence: 1, Executors: api.EveryNode}, nil, d.now)
	}
	for b.Loop() {
		d.tick(d.now)
	}
}

// The memory that one application gets in a tick is not free for the next one.
func TestMemoryIsCountedOnce(t *testing.T) {
	d := newCluster(t, "a", "b")
	d.round()
	for _, id := range []string{"x", "y", "z"} {
		a := api.Application{ID: id, Incarnation: 1, Grants: true, Template: api.Template{Argv: []string{"x"}, Memory: 700}}
		if err := d.register(&a, d.now); err != nil {
			t.Fatal(err)
		}
		d.apps[id].filesReady, d.apps[id].wants.Executors = true, 1
	}
	d.tick(d.now)
	if r := d.newPlacement(d.now); r.ordered["a"] != 700 || r.ordered["b"] != 700 {
		t.Errorf("ordered on nodes of 1000 MB: %v", r.ordered)
	}
	for id, a := range d.apps {
		waits := d.show(a) == "@ waiting" && strings.Contains(a.updates.states[0].Reason, "700 MB of them in use")
		if waits != (id == "z") {
			t.Errorf("application %s: %s", id, d.show(a))
		}
	}
}
