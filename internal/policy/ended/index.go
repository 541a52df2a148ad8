package ended

import (
	"iter"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Index finds the attempts of a job in all lists of a master. It is rebuilt for each
// instant at which Of is called; the zero value is ready.
type Index struct {
	at   sched.Time
	jobs map[sched.JobID][]place
}

// place is a list with the recent attempts of one job in it.
type place struct {
	list *List
	ids  []sched.AttemptID
}

// Lists yields the list of each place of a master, a worker or a node; nil stands for none.
func Lists[P any](places []*P, of func(*P) *List) iter.Seq[*List] {
	return func(yield func(*List) bool) {
		for _, p := range places {
			if p != nil && !yield(of(p)) {
				return
			}
		}
	}
}

// Of returns the attempts of the job that ended a short while before now. The master
// answers for them from now on: since it tells the distributor that their results will
// come, they count as ended now, and stay in their lists until their places show otherwise.
func (x *Index) Of(now sched.Time, job sched.JobID, lists iter.Seq[*List]) (ids []sched.AttemptID) {
	if x.jobs == nil || x.at != now {
		x.at, x.jobs = now, map[sched.JobID][]place{}
		for l := range lists {
			l.recent(now, func(id sched.AttemptID) { x.add(l, id) })
		}
	}
	for _, p := range x.jobs[job] {
		p.list.Keep(now, p.ids)
		ids = append(ids, p.ids...)
	}
	return ids
}

func (x *Index) add(l *List, id sched.AttemptID) {
	places := x.jobs[id.Job]
	if n := len(places); n == 0 || places[n-1].list != l {
		places = append(places, place{list: l})
	}
	last := &places[len(places)-1]
	last.ids = append(last.ids, id)
	x.jobs[id.Job] = places
}
