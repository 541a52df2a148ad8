package slots

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// TestAttemptListAgainstSlice: with few attempts and with the index of many, against a
// plain list.
func TestAttemptListAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l attemptList
		var want []*attempt
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			id := sched.AttemptID{Task: rapid.Int32Range(0, 3*manyAttempts).Draw(t, "task"), Attempt: 1}
			at := slices.IndexFunc(want, func(a *attempt) bool { return a.id == id })
			switch found := l.find(id); {
			case at < 0 && found != nil, at >= 0 && found != want[at]:
				t.Fatalf("found %+v, want entry %d of %d", found, at, len(want))
			case at < 0:
				a := &attempt{id: id}
				l.add(a)
				want = append(want, a)
			case rapid.Bool().Draw(t, "remove"):
				l.remove(want[at])
				want = slices.Delete(want, at, at+1)
			}
			if !slices.Equal(l.list, want) {
				t.Fatalf("the list has %d attempts, want %d in their order", len(l.list), len(want))
			}
			if l.byID != nil && len(l.byID) != len(want) {
				t.Fatalf("the index has %d attempts, want %d", len(l.byID), len(want))
			}
		}
	})
}

// TestRolesMaySend: a worker steps the kinds of its peers' roles, and any kind of its
// master's.
func TestRolesMaySend(t *testing.T) {
	for _, c := range []struct {
		by   sched.Role
		kind sched.Kind
		want bool
	}{
		{sched.Master, sched.SetReserved, true}, {sched.Master, sched.Steal, true},
		{sched.Distributor, sched.Probe, true}, {sched.Distributor, sched.Launch, true}, {sched.Distributor, sched.SetReserved, false},
		{sched.Worker, sched.Steal, true}, {sched.Worker, sched.Launch, false},
	} {
		if got := maySend(c.by, c.kind); got != c.want {
			t.Errorf("a %v may send %v: %v, want %v", c.by, c.kind, got, c.want)
		}
	}
}
