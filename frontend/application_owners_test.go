package frontend_test

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/apptest"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
)

// flood is how many pieces of work wait before those of another owner come, and ahead is how
// many of them may end before the others have ended: in order of arrival it would be nearly
// all of them, by equal shares about as many as there are others.
const (
	flood  = 300
	others = 10
	ahead  = flood / 2
)

// Two applications of different owners share the slots: the second one need not wait until
// the first one's earlier work has run. Slots that the first one keeps are given back.
func TestApplicationsShareByOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2, small(200))
	f := w.frontend()
	driver := func(id, owner string) *apptest.Driver {
		d := w.driver(apptest.Spec{ID: id, Owner: owner, Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
		awaitRunning(t, d, 1)
		return d
	}
	alice, bob := driver("app-1", "team/alice"), driver("app-2", "bob")
	alice.Add("flood", "short", flood, 10*time.Millisecond)
	daemontest.Await(t, "the flood runs", func() bool { return alice.Ended("flood") > 2 })
	before := alice.Ended("flood")
	bob.Add("few", "short", others, 10*time.Millisecond)
	awaitEnded(t, bob, "few", others)
	if n := alice.Ended("flood") - before; n > ahead {
		t.Errorf("%d pieces of the other owner ended before the %d", n, others)
	}
	awaitEnded(t, alice, "flood", flood)
}

// The levels of one application belong to different owners, and share the slots as
// applications do; within an owner the priority decides.
func TestLevelsShareByOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 2, small(100))
	f := w.frontend()
	d := w.driver(apptest.Spec{ID: "app-1", Owner: "team/alice", Frontends: []string{f.Addr()}, Executors: 1, Slots: 2, Memory: 60})
	awaitRunning(t, d, 1)
	d.Add("flood", "short", flood, 10*time.Millisecond)
	daemontest.Await(t, "the flood runs", func() bool { return d.Ended("flood") > 2 })
	for _, l := range []api.Level{{Name: "few", Class: "short", Owner: "bob"}, {Name: "urgent", Class: "short", Priority: 1}} {
		before := d.Ended("flood")
		d.AddLevel(l, others, 10*time.Millisecond)
		awaitEnded(t, d, l.Name, others)
		if n := d.Ended("flood") - before; n > ahead {
			t.Errorf("%d pieces of the flood ended before the %d of %+v", n, others, l)
		}
	}
	awaitEnded(t, d, "flood", flood)
}
