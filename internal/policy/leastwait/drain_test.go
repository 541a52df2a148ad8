package leastwait_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// drains makes the shell say that a slot takes nothing new, or takes tasks again.
func (m *master) drains(id int32, leaving bool) []sched.Action {
	m.t.Helper()
	return m.step(sched.Addr{}, sched.Message{Kind: sched.WorkerServes, Peer: worker(id), Serves: []string{""}, Full: leaving})
}

// partitions shows the workers: r for a reserved one.
func (m *master) partitions(workers int32) (s string) {
	for id := range workers {
		if m.core.WorkerView(worker(id)).Reserved {
			s += "r"
		} else {
			s += "-"
		}
	}
	return s
}

// A slot that drains gets no task and counts for no partition, until it takes tasks again. What is
// shown of the partitions does not depend on whether a task came meanwhile.
func TestDrain(t *testing.T) {
	m := newMaster(t, 0.5, false, 4) // 0 and 1 are reserved
	for i, c := range []struct {
		id      int32
		leaving bool
		want    string // partitions
		at      string // of two tasks that come then
	}{
		{3, true, "rr--", "[2 2]"},
		{0, true, "-r--", "[2 2]"},
		{0, false, "rr--", "[2 2]"},
		{3, false, "rr--", "[3 3]"},
		{3, true, "rr--", "[2 2]"}, // although it has less work
	} {
		m.drains(c.id, c.leaving)
		before := m.partitions(4)
		if got := fmt.Sprint(m.place(uint64(i+1), 2, sched.Second)); before != c.want || m.partitions(4) != c.want || got != c.at {
			t.Errorf("slot %d drains: %v: the partitions are %s, and with a task %s, want %s; placed at %s, want %s", c.id, c.leaving, before, m.partitions(4), c.want, got, c.at)
		}
	}
}

// Distributors hear when the last general slot drains, and when one takes tasks again; a task that
// a draining slot returns is placed elsewhere.
func TestDrainOfTheLast(t *testing.T) {
	m := newMaster(t, 0, false, 2)
	m.place(1, 2, sched.Second)
	refused := m.step(worker(1), sched.Message{Kind: sched.Refused, Job: job(1), First: 1, Attempt: 1})
	if len(refused) != 1 || refused[0].Msg.Kind != sched.Launch || refused[0].To != worker(0) {
		t.Errorf("refused: %v", refused)
	}
	serves := func(actions []sched.Action) string {
		s := "nothing"
		for _, a := range actions {
			if a.Msg.Kind == sched.Serves {
				s = fmt.Sprintf("%q", a.Msg.Serves)
			}
		}
		return s
	}
	for _, c := range []struct {
		id      int32
		leaving bool
		want    string
	}{{1, true, "nothing"}, {0, true, "[]"}, {0, true, "nothing"}, {1, false, `[""]`}, {0, false, "nothing"}} {
		if got := serves(m.drains(c.id, c.leaving)); got != c.want {
			t.Errorf("slot %d drains: %v: announced %s, want %s", c.id, c.leaving, got, c.want)
		}
	}
}
