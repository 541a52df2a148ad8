package pigeon

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// simplyNext is nextChange by a look at every slot.
func (l *slots) simplyNext() *worker {
	var best *worker
	lowest := math.MaxInt
	want := l.want()
	for _, n := range l.nodes {
		for _, w := range n.slots {
			rank, suits := -n.reserved, l.reserved < want && !w.reserved
			if l.reserved > want {
				rank, suits = n.reserved, w.reserved
			}
			if suits && !w.fixed && rank < lowest {
				best, lowest = w, rank
			}
		}
	}
	return best
}

// TestNextChange: the slot whose kind changes next is that which a look at every slot finds,
// whatever slots come and go.
func TestNextChange(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		l := newSlots([]float64{0, 0.1, 0.3, 0.5, 0.9}[r.IntN(5)])
		var all []*worker
		changes, nodes := 0, 1+r.IntN(12)
		for step := range 300 {
			if len(all) > 0 && r.IntN(100) < 45 {
				i := r.IntN(len(all))
				l.remove(all[i])
				all = slices.Delete(all, i, i+1)
			} else {
				w := &worker{fixed: r.IntN(5) == 0}
				w.reserved = w.fixed && r.IntN(2) == 0
				l.add(w, fmt.Sprintf("node-%d", r.IntN(nodes)))
				all = append(all, w)
			}
			for {
				got, want := l.nextChange(), l.simplyNext()
				if got != want {
					t.Fatalf("seed %d, step %d: slot %+v changes, want %+v", seed, step, got, want)
				}
				if got == nil {
					break
				}
				l.setReserved(got, !got.reserved)
				changes++
			}
			if l.reserved != l.want() {
				t.Fatalf("seed %d, step %d: %d slots are reserved, want %d", seed, step, l.reserved, l.want())
			}
		}
		if changes == 0 && l.share > 0 {
			t.Errorf("seed %d: no slot changed", seed)
		}
	}
}

// BenchmarkRegistration registers the slots of a large group, one for each node.
func BenchmarkRegistration(b *testing.B) {
	for b.Loop() {
		l := newSlots(0.1)
		for i := range 100_000 {
			l.add(&worker{}, fmt.Sprintf("node-%06d", i))
			for w := l.nextChange(); w != nil; w = l.nextChange() {
				l.setReserved(w, !w.reserved)
			}
		}
	}
}
