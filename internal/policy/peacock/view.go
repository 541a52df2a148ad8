package peacock

import (
	"github.com/pigeon-sched/pigeon/internal/policy/probing"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// View returns what is known of an unfinished job, for the shell to read between
// steps, with at most so many of its bound tasks.
func (d *Distributor) View(id sched.JobID, most int) (probing.View, bool) {
	return d.inner.View(id, most)
}
