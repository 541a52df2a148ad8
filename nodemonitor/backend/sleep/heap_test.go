package sleep

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestQueueAgainstSortedList checks the heap against the simplest queue there is.
func TestQueueAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []*sleeper
		var seq uint64
		order := func(a, b *sleeper) int {
			if a.before(b) {
				return -1
			}
			return 1
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				seq++
				s := &sleeper{due: time.Duration(rapid.IntRange(0, 5).Draw(t, "due")), seq: seq}
				q.push(s)
				model = append(model, s)
				slices.SortFunc(model, order)
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				if got := q.remove(0); got != model[0] {
					t.Fatalf("first is due %v #%d, want %v #%d", got.due, got.seq, model[0].due, model[0].seq)
				}
				model = model[1:]
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				s := model[i]
				if got := q.remove(s.at); got != s || s.at != -1 {
					t.Fatalf("removed another sleeper, or it still has a place (%d)", s.at)
				}
				model = slices.Delete(model, i, i+1)
			},
			"": func(t *rapid.T) {
				if len(q) != len(model) || !q.valid() {
					t.Fatalf("queue of %d (want %d) is out of order", len(q), len(model))
				}
			},
		})
	})
}
