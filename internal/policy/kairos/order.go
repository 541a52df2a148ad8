package kairos

import (
	"math/bits"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// spread orders nodes with the same number of tasks n by the variance of their
// attained service. It is n times the sum of squares less the square of the sum,
// which is n² variances, of times in microseconds: an exact number of 128 bits.
type spread struct{ hi, lo uint64 }

// maxService, 35 years in microseconds, keeps a spread below 2^128 for up to 2^13
// tasks at a node.
const maxService = 1 << 50

func spreadOf(tasks []*placed) spread {
	if len(tasks) < 2 {
		return spread{}
	}
	var sum uint64
	var squares spread
	for _, t := range tasks {
		x := uint64(min(max(0, t.service)/sched.Microsecond, maxService))
		sum += x
		squares = squares.plus(product(x, x))
	}
	return squares.times(uint64(len(tasks))).minus(product(sum, sum))
}

func product(a, b uint64) spread {
	hi, lo := bits.Mul64(a, b)
	return spread{hi, lo}
}

func (s spread) plus(o spread) spread {
	lo, carry := bits.Add64(s.lo, o.lo, 0)
	hi, _ := bits.Add64(s.hi, o.hi, carry)
	return spread{hi, lo}
}

func (s spread) minus(o spread) spread {
	lo, borrow := bits.Sub64(s.lo, o.lo, 0)
	hi, _ := bits.Sub64(s.hi, o.hi, borrow)
	return spread{hi, lo}
}

func (s spread) times(n uint64) spread {
	hi, lo := bits.Mul64(s.lo, n)
	return spread{hi + s.hi*n, lo}
}

func (s spread) less(o spread) bool { return s.hi < o.hi || (s.hi == o.hi && s.lo < o.lo) }

// before is the order in which nodes get tasks: fewest tasks first, then the
// lowest variance of attained service, then the lowest number.
func (n *node) before(o *node) bool {
	switch {
	case len(n.tasks) != len(o.tasks):
		return len(n.tasks) < len(o.tasks)
	case n.spread != o.spread:
		return n.spread.less(o.spread)
	default:
		return n.addr.ID < o.addr.ID
	}
}

// ranking is a heap of nodes in that order. Each records its place.
type ranking []*node

const unranked = -1

func (r *ranking) push(n *node) {
	n.place = len(*r)
	*r = append(*r, n)
	r.up(n.place)
}

// remove removes a node, if it is in the ranking.
func (r *ranking) remove(n *node) {
	at := n.place
	if at == unranked {
		return
	}
	last := len(*r) - 1
	r.swap(at, last)
	(*r)[last] = nil
	*r = (*r)[:last]
	n.place = unranked
	if at < last {
		r.fix(at)
	}
}

func (r ranking) fix(at int) {
	r.up(at)
	r.down(at)
}

func (r ranking) up(at int) {
	for at > 0 && r[at].before(r[(at-1)/2]) {
		r.swap(at, (at-1)/2)
		at = (at - 1) / 2
	}
}

func (r ranking) down(at int) {
	for {
		first := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(r); child++ {
			if r[child].before(r[first]) {
				first = child
			}
		}
		if first == at {
			return
		}
		r.swap(at, first)
		at = first
	}
}

func (r ranking) swap(a, b int) {
	r[a], r[b] = r[b], r[a]
	r[a].place, r[b].place = a, b
}
