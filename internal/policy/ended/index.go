package ended

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Index finds the attempts of a job in all lists of a master. It is made again for each
// instant at which it is asked; the zero value is ready.
type Index struct {
	at   sched.Time
	jobs map[sched.JobID][]sched.AttemptID
}

// Of returns the attempts of the job that ended a short while before now.
func (x *Index) Of(now sched.Time, job sched.JobID, lists iter.Seq[*List]) []sched.AttemptID {
	if x.jobs == nil || x.at != now {
		x.at, x.jobs = now, map[sched.JobID][]sched.AttemptID{}
		for l := range lists {
			l.Each(now, func(id sched.AttemptID, _ sched.Addr) { x.jobs[id.Job] = append(x.jobs[id.Job], id) })
		}
	}
	return x.jobs[job]
}
