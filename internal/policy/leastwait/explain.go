package leastwait

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Explain returns why tasks of a long job wait.
func Explain(w *sched.Waiting) string {
	return fmt.Sprintf("%s in the queues of the workers that the central master has assigned them to, those with the least work by the estimates. More general workers would start them sooner.", sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"))
}
