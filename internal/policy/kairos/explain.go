package kairos

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// explain returns why tasks wait.
func explain(w *sched.Waiting) string {
	return fmt.Sprintf("%d of its tasks wait among %d at the central master, in order of arrival: every node holds the most tasks, running and suspended, that it accepts.",
		w.Queued, w.QueuedAll[sched.Short]+w.QueuedAll[sched.Long])
}
