package experiment

import (
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The messages of a task that does not wait, its report included: a probe and a
// request come first where binding is late. Long tasks of hawk and eagle are
// placed by their central scheduler.
func TestMessagesOfAJobAlone(t *testing.T) {
	for _, name := range policy.Names() {
		d := small()
		d.Policies, d.Reserved = []string{name}, 0.95
		run, _ := one(t, d)
		got, err := run.tolerance(t.Context(), 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for class := range got {
			want := int64(3)
			if p := &run.Cores; p.LateBinding && (!p.Central || sched.Class(class) == sched.Short) {
				want = 4
			}
			if got[class] != want*20_000_000+slack {
				t.Errorf("%s, class %d: %d ns, want %d messages", name, class, got[class], want)
			}
		}
	}
}

// On a cluster with room for everything every job is unqueued, whatever the policy.
func TestRoomForAllIsUnqueued(t *testing.T) {
	for _, name := range []string{"pigeon", "sparrow"} {
		d := small()
		d.Trace, d.Policies, d.Groups = "gen:uniform,jobs=50,load=0.001,fanout=3", []string{name}, []int{50, 50}
		run, w := one(t, d)
		out, err := run.Simulate(t.Context(), w, SimOptions{Delay: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r := run.Result(w, out); r.All.Unqueued != 1 {
			t.Errorf("%s: %v of the jobs are unqueued", name, r.All.Unqueued)
		}
	}
}
