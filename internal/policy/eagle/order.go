package eagle

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// order is the approximate shortest-remaining-work order with bounded delay.
type order struct{ slack float64 }

// next returns the entry to serve of a queue that is not empty.
func (o order) next(q *probing.Queue) int {
	best, _ := o.search(q)
	return best
}

// search returns the entry to serve, and how many entries it has looked at. Runs of entries of
// which none can be it are passed by their summaries.
func (o order) search(q *probing.Queue) (best, looks int) {
	head := q.At(0)
	if head.Class == sched.Long {
		return 0, 1
	}
	least, slack, first := remaining(head), o.left(head), 0
	for k := range q.Runs() {
		if slack <= 0 {
			break
		}
		run := &q.Runs()[k]
		list := run.Entries()
		if !run.Summary.Known {
			looks += len(list)
		}
		if s := o.summary(run); s.Work >= least || s.Estimate > slack {
			slack = min(slack, s.Slack)
			first += len(list)
			continue
		}
		looks += len(list)
		for i := range list {
			if slack <= 0 {
				break
			}
			e := &list[i]
			if e.Estimate <= slack && remaining(e) < least {
				best, least = first+i, remaining(e)
				if e.Class == sched.Long {
					return best, looks
				}
			}
			if e.Class == sched.Short {
				slack = min(slack, o.left(e))
			}
		}
		first += len(list)
	}
	return best, looks
}

// summary returns that of a run, the slack of its short entries alone.
func (o order) summary(r *probing.Run) *probing.Summary {
	s := &r.Summary
	if s.Known {
		return s
	}
	*s = probing.Summary{Known: true, Work: math.MaxInt64, Estimate: math.MaxInt64, Slack: math.MaxInt64}
	for i := range r.Entries() {
		e := &r.Entries()[i]
		s.Work, s.Estimate = min(s.Work, remaining(e)), min(s.Estimate, e.Estimate)
		if e.Class == sched.Short {
			s.Slack = min(s.Slack, o.left(e))
		}
	}
	return s
}

// took charges those ahead of the entry that was served.
func (order) took(q *probing.Queue, i int) {
	estimate := q.At(i).Estimate
	for k := range q.Runs() {
		r := &q.Runs()[k]
		list := r.Entries()
		for n := range min(i, len(list)) {
			list[n].Delay += estimate
		}
		r.Summary.Slack -= estimate
		if i < len(list) || r.Summary.Slack > math.MaxInt64/2 { // not all are charged, or none has a slack
			r.Summary.Known = false
		}
		if i -= len(list); i <= 0 {
			return
		}
	}
}

// left is the delay that may still be imposed on an entry, at most what a Time can hold.
func (o order) left(e *probing.Entry) sched.Time {
	slack := float64(o.slack * float64(e.Estimate))
	if slack >= math.MaxInt64 {
		return math.MaxInt64 - e.Delay
	}
	return sched.Time(slack) - e.Delay
}

// remaining is the work that is left of an entry's job, at most what a Time can hold.
func remaining(e *probing.Entry) sched.Time {
	const most = math.MaxInt64
	if count := sched.Time(e.Count); count > 0 && e.Estimate > most/count {
		return most
	}
	return e.Estimate * sched.Time(e.Count)
}
