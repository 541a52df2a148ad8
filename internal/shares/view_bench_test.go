package shares_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/shares"
)

type unwatched struct{}

func (unwatched) Moved(*shares.Node, sched.Class)   {}
func (unwatched) Shifted(*shares.Node, sched.Class) {}
func (unwatched) Split(_, _ *shares.Node)           {}
func (unwatched) Forgotten(*shares.Node)            {}

// BenchmarkOwners is the cost of a master's view of many owners that all want workers
// and have one parent.
func BenchmarkOwners(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			t := shares.New(unwatched{})
			for i := range n {
				t.Wait(t.Hold(fmt.Sprintf("team/o%05d", i)), sched.Short, 3)
			}
			for b.Loop() {
				if got := len(t.Owners()); got != n+2 {
					b.Fatalf("%d owners", got)
				}
			}
		})
	}
}
