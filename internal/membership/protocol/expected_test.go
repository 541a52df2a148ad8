package protocol

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// All have registered exactly once, with the last of those that were expected, whatever
// others come and however often each of them does.
func TestExpected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peer := rapid.Custom(func(t *rapid.T) Peer {
			return Peer{rapid.SampledFrom([]sched.Role{sched.Worker, sched.Distributor}).Draw(t, "role"), rapid.StringMatching("[a-d]").Draw(t, "name")}
		})
		members := rapid.SliceOfN(peer, 1, 6).Draw(t, "members")
		e, known := Begin(members, sched.Second, 2*sched.Second)
		if !known || e.Nobody() {
			t.Fatal("no daemon is expected")
		}
		left := map[Peer]bool{}
		for _, p := range members {
			left[p] = true
		}
		said := false
		for _, p := range rapid.SliceOfN(peer, 0, 30).Draw(t, "come") {
			delete(left, p)
			do := rapid.SampledFrom([]func(Peer) bool{e.Registered, e.Gone}).Draw(t, "how")
			if all := do(p); all != (len(left) == 0 && !said) {
				t.Fatalf("all: %v, with %v left", all, left)
			}
			said = said || len(left) == 0
			if len(e.missing) != len(left) {
				t.Fatalf("%d are left, want %v", len(e.missing), left)
			}
		}
	})
}

func TestExpectedIsKnownForAWhile(t *testing.T) {
	for _, c := range []struct {
		read, now sched.Time
		known     bool
	}{{0, 0, false}, {0, sched.Second, false}, {1, knownFor, true}, {1, knownFor + 1, true}, {1, knownFor + 2, false}} {
		e, known := Begin(nil, c.read, c.now)
		if known != c.known || e.Nobody() != c.known || e.Nobody() {
			t.Errorf("read at %d, at %d: known %v", c.read, c.now, known)
		}
	}
	var none Expected
	if none.Registered(Peer{}) || none.Nobody() {
		t.Error("the zero value says that all have registered")
	}
}
