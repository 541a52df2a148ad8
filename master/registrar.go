package master

import (
	"maps"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/policy/groupview"
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// registrar is the view of a master without a core: it schedules nothing, and knows
// of its workers what their nodes told last.
type registrar struct{ o *owner }

var _ view = (*registrar)(nil)

// Totals counts workers; frontends and workers have all else.
func (r *registrar) Totals() (t groupview.Totals) {
	t.Oldest = [sched.NumClasses]sched.Time{groupview.Unknown, groupview.Unknown}
	for _, n := range r.o.nodes {
		for _, s := range n.slots {
			t.Workers[queue.General]++
			if s.busy == 0 {
				t.Idle[queue.General]++
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

// Shown knows nothing beyond what the nodes tell.
func (r *registrar) Shown(sched.Addr) groupview.Worker {
	return groupview.Worker{Tasks: groupview.Unknown}
}

// Share is empty: jobs are between frontends and workers.
func (r *registrar) Share(sched.JobID, int) groupview.Job { return groupview.Job{} }
