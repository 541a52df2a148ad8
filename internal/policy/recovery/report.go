package recovery

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Known is the latest attempt that a master knows of each task of a message, 0 where it
// knows none.
type Known struct {
	first    int32
	attempts []int32
}

// NewKnown returns an account of the tasks of a message in which no attempt is known yet.
func NewKnown(m *sched.Message) Known { return Known{m.First, make([]int32, m.Count)} }

// Know records that an attempt of the task is held here, or has ended here.
func (l *Known) Know(task, attempt int32) { l.KnowAll(task, 1, attempt) }

// KnowAll is Know for count tasks from first on.
func (l *Known) KnowAll(first, count, attempt int32) {
	from := max(first, l.first)
	for i := from; i < min(first+count, l.first+int32(len(l.attempts))); i++ { //nolint:gosec // at most sched.MaxTasks
		l.attempts[i-l.first] = max(l.attempts[i-l.first], attempt)
	}
}

// EachEarlier calls f for the ranges of tasks with only attempts earlier than the
// given one are known.
func (l *Known) EachEarlier(attempt int32, f func(first, count int32)) {
	n := int32(len(l.attempts)) //nolint:gosec // at most sched.MaxTasks
	for i := int32(0); i < n; {
		first := i
		for i < n && l.attempts[i] < attempt {
			i++
		}
		if i == first {
			i++
			continue
		}
		f(l.first+first, i-first)
	}
}

// Return returns those tasks of a message sent again whose attempt this master does not
// know: an earlier master may have launched them, so they need new numbers.
func Return(m *sched.Message, known *Known, out *sched.Actions) {
	known.EachEarlier(m.Attempt, func(first, count int32) {
		out.SendReturned(m.Distributor, m.Job, first, count, m.Attempt, false).Resent = true
	})
}

// Holdings collects what a master holds of a job, for the answer to DistributorUp.
type Holdings struct{ list []holding }

type holding struct{ first, count, attempt int32 }

// Add adds count tasks from first on.
func (h *Holdings) Add(first, count, attempt int32) {
	h.list = append(h.list, holding{first, count, attempt})
}

// Send sends the collected tasks to their distributor, in ranges, and empties the collection.
func (h *Holdings) Send(distributor sched.Addr, job sched.JobID, out *sched.Actions) {
	h.each(func(r holding) {
		m := out.Send(distributor, sched.Holding)
		m.Job, m.First, m.Count, m.Attempt = job, r.first, r.count, r.attempt
	})
}

// Return returns the collected tasks, which were not launched, to their distributor, in ranges, and
// empties the collection.
func (h *Holdings) Return(distributor sched.Addr, job sched.JobID, out *sched.Actions) {
	h.each(func(r holding) { out.SendReturned(distributor, job, r.first, r.count, r.attempt, false) })
}

// each calls f for the ranges of the collected tasks, in order, and empties the collection.
func (h *Holdings) each(f func(holding)) {
	slices.SortFunc(h.list, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.first, b.first))
	})
	for i := 0; i < len(h.list); {
		r := h.list[i]
		for i++; i < len(h.list) && h.list[i].attempt == r.attempt && h.list[i].first <= r.first+r.count; i++ {
			r.count = max(r.count, h.list[i].first+h.list[i].count-r.first)
		}
		f(r)
	}
	h.list = h.list[:0]
}

// Answered ends the answer to DistributorUp.
func Answered(distributor sched.Addr, out *sched.Actions) { out.Send(distributor, sched.Holding) }

// Sorted returns the ids of the jobs of a distributor in an order that does not depend on that
// of the map.
func Sorted[J any](jobs map[sched.JobID]J, owned func(J) bool) []sched.JobID {
	var ids []sched.JobID
	for id, j := range jobs {
		if owned(j) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b sched.JobID) int { return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo)) })
	return ids
}
