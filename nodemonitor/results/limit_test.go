package results

import (
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// attempts are the numbers of attempts that run, by frontend.
type attempts [2]int

// docs/adr/0019-absent-frontends.md: all results and running attempts together have the limit; past
// it a frontend has room for its part, the limit over the number of frontends with something here.
func TestRoom(t *testing.T) {
	const limit, maxBytes = 6, 6000
	addr := func(i int) sched.Addr { return sched.Addr{Role: sched.Distributor, ID: int32(i)} }
	for _, c := range []struct {
		kept    [2]int // by frontend
		running attempts
		bytes   int // of each result
		room    [2]bool
	}{
		{[2]int{0, 0}, attempts{0, 0}, 0, [2]bool{true, true}},
		{[2]int{5, 0}, attempts{0, 0}, 0, [2]bool{true, true}},
		{[2]int{6, 0}, attempts{0, 0}, 0, [2]bool{false, true}},
		{[2]int{5, 0}, attempts{1, 0}, 0, [2]bool{false, true}},
		{[2]int{0, 0}, attempts{6, 0}, 0, [2]bool{false, true}},
		{[2]int{6, 0}, attempts{0, 2}, 0, [2]bool{false, true}},
		{[2]int{6, 1}, attempts{0, 2}, 0, [2]bool{false, false}},
		{[2]int{2, 3}, attempts{0, 1}, 0, [2]bool{true, false}},
		{[2]int{3, 0}, attempts{0, 0}, 1999, [2]bool{true, true}},
		{[2]int{3, 0}, attempts{0, 0}, 2000, [2]bool{false, true}},
		{[2]int{2, 1}, attempts{0, 0}, 2999, [2]bool{false, true}},
		{[2]int{1, 1}, attempts{0, 0}, 3000, [2]bool{false, false}},
	} {
		w := newNetwork()
		w.r.store.limit, w.r.store.maxBytes = limit, maxBytes
		for i, n := range c.kept {
			w.r.CanReport(addr(i))
			for task := range n {
				w.r.Keep(addr(i), Result{ID: attemptOf(uint64(i), int32(task)), Reason: strings.Repeat("x", c.bytes)})
			}
		}
		w.now = silentAfter
		running := &Running{}
		for i, n := range c.running {
			running.Count(addr(i), n)
		}
		full := w.r.Full(running)
		for i, room := range c.room {
			want := Room
			if !room {
				want = Full
				if c.kept[i] > 0 {
					want = Silent
				}
			}
			if got := w.r.Capacity(addr(i), running); got != want || full[addr(i)] != want {
				t.Errorf("%v results of %d bytes are kept and %v attempts run: frontend %d has the capacity %v, in the list %v, want %v", c.kept, c.bytes, c.running, i, got, full[addr(i)], want)
			}
		}
		w.r.Heard(addr(0))
		if w.r.Full(running)[addr(0)] == Silent {
			t.Errorf("a frontend that was heard is silent")
		}
	}
}
