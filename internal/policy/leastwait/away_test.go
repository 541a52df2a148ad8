package leastwait_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Nothing waits at this master for a distributor that has been silent for long: each task is at a
// worker, continues there, and its end makes room as any other's. The distributor finds what has
// not ended when it is back.
func TestDistributorAway(t *testing.T) {
	m := newMaster(t, 0, false, 2)
	at := m.place(1, 6, sched.Second)
	if got := m.step(sched.Addr{}, sched.Message{Kind: sched.DistributorAway, Distributor: distributor}); len(got) != 0 {
		t.Errorf("it is answered with %v", got)
	}
	for i, w := range at {
		id := sched.Message{Job: job(1), First: int32(i), Attempt: 1} //nolint:gosec // few
		started, idle := id, id
		started.Kind, idle.Kind = sched.Started, sched.Idle
		m.step(worker(w), started)
		m.step(worker(w), idle)
		held := int32(0)
		for _, a := range m.step(sched.Addr{}, sched.Message{Kind: sched.DistributorUp, Distributor: distributor}) {
			if a.Msg.Kind == sched.Holding {
				held += a.Msg.Count
			}
		}
		if left := len(at) - i - 1; int(held) != left {
			t.Errorf("after %d of %d ends %d tasks are held, want %d", i+1, len(at), held, left)
		}
	}
}
