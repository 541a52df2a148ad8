package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Names gives jobs names of recurring works, so that what is learned from earlier jobs of
// a work can be simulated.
type Names struct {
	// Count is the number of works. Jobs with neighbouring mean durations are one work; all
	// works have the same number of jobs.
	Count int `json:"count"`
	// Odd is the share of jobs that have the name of a work drawn at random instead.
	Odd float64 `json:"odd"`
}

// ParseNames reads N[,odd=0.1].
func ParseNames(text string) (*Names, error) {
	count, rest, _ := strings.Cut(text, ",")
	s := parseSpec("give jobs the names of --names", text, "names="+count+","+rest)
	n := &Names{Count: s.whole("names", 1, 1, MaxJobs), Odd: s.number("odd", 0, 0, 1)}
	return n, s.err()
}

// Recur gives every job the name of its work. A nil n changes nothing.
func (w *Workload) Recur(n *Names, seed uint64) *Workload {
	out := w.with()
	if n == nil {
		return out
	}
	order, means := make([]int, len(out.Jobs)), make([]int64, len(out.Jobs))
	for i := range order {
		order[i], means[i] = i, out.Jobs[i].Mean()
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(means[a], means[b]) })
	for rank, i := range order {
		draw := newRand(seed, streamNames<<32+uint64(out.Jobs[i].Line)) //nolint:gosec // a line number
		work := rank * n.Count / len(order)
		if odd, drawn := draw.Float64() < n.Odd, draw.IntN(n.Count); odd {
			work = drawn
		}
		out.Jobs[i].Name = fmt.Sprintf("work-%d", work)
	}
	return out
}
