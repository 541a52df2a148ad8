package leastwait

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Explain returns why tasks of a long job wait.
func Explain(w *sched.Waiting) string {
	return fmt.Sprintf("%d of its tasks wait in the queues of the workers that the central master has assigned them to, those with the least work by the estimates. More general workers would start them sooner.", w.Queued)
}
