package master

import (
	"maps"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// registrar is the view of a master without a core: it schedules nothing, and knows
// of its workers what their nodes told last.
type registrar struct{ o *owner }

var _ sched.GroupView = (*registrar)(nil)

// Totals counts workers; frontends and workers have all else.
func (r *registrar) Totals() (t sched.GroupTotals) {
	t.Oldest = [sched.NumClasses]sched.Time{sched.Unknown, sched.Unknown}
	for _, n := range r.o.nodes {
		for _, s := range n.slots {
			t.Workers[sched.General]++
			if s.busy == 0 {
				t.Idle[sched.General]++
			}
		}
	}
	return t
}

// Serves returns what the slots serve, together.
func (r *registrar) Serves() []string {
	all := map[string]bool{}
	for _, n := range r.o.nodes {
		for _, s := range n.slots {
			for _, app := range s.serves {
				all[app] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Serving counts the slots that serve an application.
func (r *registrar) Serving(app string) (workers int) {
	for _, n := range r.o.nodes {
		for _, s := range n.slots {
			if slices.Contains(s.serves, app) {
				workers++
			}
		}
	}
	return workers
}

// WorkerView knows nothing beyond what the nodes tell.
func (r *registrar) WorkerView(sched.Addr) sched.WorkerView {
	return sched.WorkerView{Tasks: sched.Unknown}
}

// Share is empty: jobs are between frontends and workers.
func (r *registrar) Share(sched.JobID, int) sched.JobShare { return sched.JobShare{} }

// Contended reports false: nothing waits here.
func (r *registrar) Contended(string, sched.Class) bool { return false }
