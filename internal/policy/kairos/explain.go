package kairos

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// explain returns why tasks wait.
func explain(w *sched.Waiting) string {
	return fmt.Sprintf("%s among %d at the central master, in order of arrival: every node holds the most tasks, running and suspended, that it accepts.",
		sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"), w.QueuedAll[sched.Short]+w.QueuedAll[sched.Long])
}
