package jobs

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// order is the jobs that were submitted, in the order in which they were entered, so that the
// newest are found without a look at every job.
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

// pageVisits bounds the jobs that are looked at for one page, so that the owner goroutine is
// not held up by a list that wants few jobs.
const pageVisits = 10_000

// Page is some of the jobs that were submitted, the newest first.
type Page struct {
	Jobs  []*Job
	Last  *Job // the last one that was looked at; nil when there are no older ones
	Known bool // the job after which it begins is known
}

// Page returns at most that many of the wanted jobs that are older than a job, or of all wanted
// jobs for the zero id.
func (t *Table) Page(after sched.JobID, most int, wanted func(*Job) bool) (p Page) {
	t.forget()
	j := t.order.newest
	if after != (sched.JobID{}) {
		last := t.jobs[after]
		if last == nil || last.Grant != nil {
			return p
		}
		j = last.older
	}
	p.Known = true
	for visits := 1; j != nil; j, visits = j.older, visits+1 {
		if wanted(j) {
			p.Jobs = append(p.Jobs, j)
		}
		if len(p.Jobs) == most || visits == pageVisits {
			if j.older != nil {
				p.Last = j
			}
			break
		}
	}
	return p
}
