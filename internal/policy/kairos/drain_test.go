package kairos

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A node that drains gets no task, although its own end and it shows that it has room, until it takes
// tasks again: then one that waits goes there at once.
func TestDrain(t *testing.T) {
	d := newFixture(t, 2, Options{Cores: 1}, false)
	drains := func(leaving bool) *sched.Message {
		return &sched.Message{Kind: sched.WorkerServes, Peer: nodeAt(0), Serves: []string{""}, Full: leaving}
	}
	for _, c := range []struct {
		what string
		from sched.Addr
		m    *sched.Message
		want string
	}{
		{"both have a task", distributor, tasks(1, 2), "Launch>0:1/0 Launch>1:1/1"},
		{"the first drains", sched.Addr{}, drains(true), ""},
		{"more tasks", distributor, tasks(2, 3), "Launch>1:2/0"},
		{"its task ends", nodeAt(0), idleAt(1, 1, 0), ""},
		{"it shows that it has room", nodeAt(0), heartbeat(1, 1), ""},
		{"the notice again", sched.Addr{}, drains(true), ""},
		{"a task of the other ends", nodeAt(1), idleAt(1, 1, 1), "Launch>1:2/1"},
		{"it takes tasks again", sched.Addr{}, drains(false), "Launch>0:2/2"},
	} {
		if got := d.sent(c.from, c.m); got != c.want {
			t.Errorf("%s: sent %q, want %q", c.what, got, c.want)
		}
	}
}
