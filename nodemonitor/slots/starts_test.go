package slots

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// An attempt passes once, until as many others as are remembered have passed.
func TestFence(t *testing.T) {
	f := newFence()
	id := func(n int) sched.AttemptID {
		return sched.AttemptID{Job: sched.JobID{Lo: uint64(n / 1000)}, Task: int32(n % 1000), Attempt: 10_001}
	}
	for n := range fenceSize {
		if !f.pass(id(n)) {
			t.Fatalf("attempt %d was refused", n)
		}
	}
	later := id(0)
	later.Attempt++
	if f.pass(id(0)) || f.pass(id(fenceSize-1)) || !f.pass(later) {
		t.Error("the first or the last attempt passed again, or a later one did not")
	}
	for n := fenceSize; n < 3*fenceSize; n++ {
		f.pass(id(n))
	}
	if !f.pass(id(0)) || len(f.started)+len(f.before) > 2*fenceSize {
		t.Errorf("the oldest is still remembered, with %d others", len(f.started)+len(f.before))
	}
}

func BenchmarkFence(b *testing.B) {
	f := newFence()
	b.ReportAllocs()
	for n := range b.N {
		f.pass(sched.AttemptID{Job: sched.JobID{Lo: uint64(n)}, Attempt: 1})
	}
}
