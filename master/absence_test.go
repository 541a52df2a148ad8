package master

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A frontend is absent once, after four fifths of the time for which frontends wait, or
// when this process was stopped for as long; its next hello ends that.
func TestAbsence(t *testing.T) {
	const second = sched.Second
	a := newAbsence(5*second, 0)
	expect := func(at sched.Time, want ...string) {
		t.Helper()
		if got := a.begin(at); !slices.Equal(got, want) {
			t.Errorf("at %d s: %v, want %v", at/second, got, want)
		}
	}
	a.hello("b", 0)
	a.hello("a", 0)
	expect(2 * second)
	a.hello("a", 2*second)
	expect(4 * second)
	expect(4*second+1, "b")
	expect(5 * second)
	a.hello("b", 5*second)
	expect(6 * second)
	expect(10*second+1, "a", "b") // this process was stopped
	expect(11 * second)
	a.hello("a", 11*second)
	expect(12 * second)
	expect(15*second+1, "a")
}
