package measure

import (
	"math"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Window is the default length of the spans of time over which shares are compared.
const Window = 30 * sched.Second

// Shares measures what owners used of the workers, and how that agrees with their
// weights while they competed. Time is cut into windows of equal length. For each class, a
// window counts when at least two owners had tasks of the class waiting at every
// instant of it (not started, or suspended). Their use of it together is divided by their
// weights among each other, which is what each is entitled to.
//
// Calls are in order of time.
type Shares struct {
	owners []string
	shares []sched.Share
	tree   *tree
	window int64
	end    int64 // of the current window
	use    [2][]use
	totals [2]ClassFairness
}

// use is what one owner does with tasks of one class.
type use struct {
	waiting, running    int
	since               int64 // the last change
	interrupted         bool  // in this window nothing waited at some instant
	inWindow            int64 // worker time
	total               int64
	contended, entitled float64
}

// NewShares returns the measure for owners (sorted) with the given shares and a window in
// ns, as run.
func NewShares(owners []string, shares []sched.Share, window int64) *Shares {
	s := &Shares{owners: owners, shares: shares, tree: newTree(owners, shares), window: window, end: window}
	for class := range s.use {
		s.use[class] = make([]use, len(owners))
		for k := range s.use[class] {
			s.use[class][k].interrupted = true // nothing waits at first
		}
		s.totals[class].Least = Missing()
	}
	return s
}

// Waits adds n tasks (or takes them away) to those of an owner and a class that wait.
func (s *Shares) Waits(at int64, owner, class, n int) {
	u := s.at(at, owner, class)
	if u.waiting += n; u.waiting == 0 {
		u.interrupted = true
	}
}

// Runs adds n tasks (or takes them away) to those of an owner and a class that run.
func (s *Shares) Runs(at int64, owner, class, n int) { s.at(at, owner, class).running += n }

func (s *Shares) at(at int64, owner, class int) *use {
	if at >= s.end {
		s.close(1)
	}
	if at >= s.end { // nothing has changed in the windows that have passed since
		s.close((at-s.end)/s.window + 1)
	}
	u := &s.use[class][owner]
	u.advance(at)
	return u
}

func (u *use) advance(at int64) {
	if d := at - u.since; d > 0 {
		u.inWindow += int64(u.running) * d
		u.since = at
	}
}

// close ends the current window, and with n above 1 further ones, in which nothing changes: one
// that is n times as long has the same ratios.
func (s *Shares) close(n int64) {
	s.end += (n - 1) * s.window
	for class := range s.use {
		list := s.use[class]
		competing, together := 0, 0.0
		for k := range list {
			u := &list[k]
			u.advance(s.end)
			if !u.interrupted {
				competing++
				together += float64(u.inWindow)
			}
		}
		if competing >= 2 && together > 0 {
			s.count(class, n, together)
		}
		for k := range list {
			u := &list[k]
			u.total, u.inWindow, u.interrupted = u.total+u.inWindow, 0, u.waiting == 0
		}
	}
	s.end += s.window
}

// count adds n windows in which owners competed.
func (s *Shares) count(class int, n int64, together float64) {
	list := s.use[class]
	var ratios []float64
	s.tree.entitle(func(k int) bool { return !list[k].interrupted }, func(k int, fraction float64) {
		u := &list[k]
		u.contended += float64(u.inWindow)
		u.entitled += fraction * together
		ratios = append(ratios, float64(u.inWindow)/(fraction*together))
	})
	t := &s.totals[class]
	t.Windows += int(n)
	if j := Jain(ratios); math.IsNaN(float64(t.Least)) || j < float64(t.Least) {
		t.Least = Number(j)
	}
}

// Jain is Jain's index of fairness: (sum x)^2 / (n sum x^2), 1 when all are equal and 1/n
// when one has all. It is NaN of nothing ("A Quantitative Measure of Fairness and
// Discrimination", DEC-TR-301, 1984).
func Jain(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range values {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(values)) * squares)
}

// fill adds to a result what was measured until its end. unit converts the times to seconds.
func (s *Shares) fill(r *Result, unit float64) {
	for class := range s.use {
		var ratios []float64
		for k := range s.use[class] {
			u := &s.use[class][k]
			o := r.owner(s.owners[k]).Class(class)
			o.Used = Number(float64(u.total+u.inWindow) * unit)
			o.Contended, o.Entitled = Number(u.contended*unit), Number(u.entitled*unit)
			if u.entitled > 0 {
				ratios = append(ratios, u.contended/u.entitled)
			}
		}
		s.totals[class].Jain = Number(Jain(ratios))
	}
	for k := range r.Owners {
		r.Owners[k].Weight = Number(weightOf(r.Owners[k].Owner, s.shares))
	}
	r.Fairness = &Fairness{Window: Number(float64(s.window) * unit), Short: s.totals[0], Long: s.totals[1]}
}

// OwnerOf returns the figures of an owner, missing ones when it has none.
func (r *Result) OwnerOf(name string) *OwnerResult {
	for k := range r.Owners {
		if r.Owners[k].Owner == name {
			return &r.Owners[k]
		}
	}
	none := noFigures(name)
	return &none
}

// noFigures returns the result of an unknown owner.
func noFigures(owner string) OwnerResult {
	none := OwnerClass{Completion: Describe([]int64{}, 1), Used: Missing(), Contended: Missing(), Entitled: Missing()}
	return OwnerResult{Owner: owner, Weight: Missing(), Short: none, Long: none}
}

// owner returns the figures of an owner, and adds them if need be.
func (r *Result) owner(name string) *OwnerResult {
	k, found := slices.BinarySearchFunc(r.Owners, name, func(o OwnerResult, name string) int { return strings.Compare(o.Owner, name) })
	if !found {
		r.Owners = slices.Insert(r.Owners, k, noFigures(name))
	}
	return &r.Owners[k]
}
