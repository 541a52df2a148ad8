package slots

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A kept result is listed with its slot, or with the first one when the slot was removed or is
// one that only a former process of the node had.
func TestKeptWithoutASlot(t *testing.T) {
	id := func(task int32) sched.AttemptID {
		return sched.AttemptID{Job: sched.JobID{Lo: 1}, Task: task, Attempt: 1}
	}
	n := newWorkers(t, "pigeon", &killer{})
	for task, slot := range []int32{2, 1, 7, 0, 3} {
		n.reporter.Keep(sched.Addr{Role: sched.Distributor}, results.Result{ID: id(int32(task)), Slot: slot}) //nolint:gosec // few
	}
	slots := []wire.Slot{{Slot: 0}, {Slot: 2}}
	addKept(n.reporter, slots, []int{0, -1, 1}) // slot 1 was removed
	if got, want := slots[0].Kept, []sched.AttemptID{id(1), id(2), id(3), id(4)}; !slices.Equal(got, want) {
		t.Errorf("the first slot has %v, want %v", got, want)
	}
	if got, want := slots[1].Kept, []sched.AttemptID{id(0)}; !slices.Equal(got, want) {
		t.Errorf("slot 2 has %v, want %v", got, want)
	}
}
