package kairos

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// explain returns why tasks wait.
func explain(w *sched.Waiting) string {
	return fmt.Sprintf("%d of its tasks wait among %d at the central master, in order of arrival: every node has as many tasks, running and suspended, as it takes.",
		w.Queued, w.QueuedAll[sched.Short]+w.QueuedAll[sched.Long])
}
