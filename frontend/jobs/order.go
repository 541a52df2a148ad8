package jobs

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// order is the jobs that were submitted, in the order in which they were entered, so that
// the newest are found without looking at all.
type order struct{ oldest, newest *Job }

func (o *order) add(j *Job) {
	j.older = o.newest
	if j.older != nil {
		j.older.newer = j
	} else {
		o.oldest = j
	}
	o.newest = j
}

// remove removes a job that may not be in the order.
func (o *order) remove(j *Job) {
	switch {
	case j.older != nil:
		j.older.newer = j.newer
	case o.oldest == j:
		o.oldest = j.newer
	}
	switch {
	case j.newer != nil:
		j.newer.older = j.older
	case o.newest == j:
		o.newest = j.older
	}
	j.older, j.newer = nil, nil
}

// sort orders the jobs by the time of their submission, as their status has it.
func (o *order) sort() {
	var list []*Job
	for j := o.oldest; j != nil; j = j.newer {
		list = append(list, j)
	}
	slices.SortStableFunc(list, func(a, b *Job) int { return cmp.Compare(a.Status.Submitted, b.Status.Submitted) })
	*o = order{}
	for _, j := range list {
		j.older, j.newer = nil, nil
		o.add(j)
	}
}

// Page returns at most so many of the jobs that were submitted, the newest first: those
// that are older than a job, or the newest of all for the zero id. It reports whether that
// job is known.
func (t *Table) Page(after sched.JobID, most int) (page []*Job, known bool) {
	t.forget()
	j := t.order.newest
	if after != (sched.JobID{}) {
		last := t.jobs[after]
		if last == nil || last.Grant != nil {
			return nil, false
		}
		j = last.older
	}
	for ; j != nil && len(page) < most; j = j.older {
		page = append(page, j)
	}
	return page, true
}
