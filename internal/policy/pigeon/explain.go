package pigeon

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// explain returns why tasks wait in a queue in which those of one owner are served first
// come, first served. The frontend's lines about owners follow it.
func explain(w *sched.Waiting) string {
	return explainOrder(w, "those of one owner first come, first served")
}

// explainFanout returns why tasks wait in a queue that is ordered by the jobs' tasks in it.
func explainFanout(w *sched.Waiting) string {
	return explainOrder(w, "of one owner those of the job with the fewest tasks there first")
}

// explainSorted returns why tasks wait in a sorted queue.
func explainSorted(w *sched.Waiting) string {
	return explainOrder(w, "of one owner those of the job with the least work left first")
}

// explainSuspending returns why tasks wait where short ones may suspend long ones.
func explainSuspending(w *sched.Waiting) string {
	s := explainSorted(w)
	if w.Class == sched.Short {
		s += " No task there can be suspended for it now: each is short, has not yet run for the cutoff, has suspended others, or may not be suspended (no_suspend, a terminal, a process of an application)."
	}
	return s
}

func explainOrder(w *sched.Waiting, order string) string {
	if w.Class == sched.Long {
		reserved := ""
		if n := w.Idle[sched.Reserved]; n > 0 {
			reserved = fmt.Sprintf(" (%s for short tasks)", sched.Count(n, "idle worker is reserved", "idle workers are reserved"))
		}
		first, sooner := "", "More workers"
		if n := w.QueuedAll[sched.Short]; n > 0 {
			first, sooner = fmt.Sprintf(", and %s there may go first", sched.Count(n, "short task", "short tasks")), "More workers, or fewer short jobs,"
		}
		return fmt.Sprintf("%s: %s among %d long ones; long tasks run on general workers only, none of which is idle%s%s. The oldest long one waits %.3f s. %s would start them sooner.",
			w.Place, sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"), w.QueuedAll[sched.Long], reserved, first, w.OldestWait, sooner)
	}
	busy := fmt.Sprintf("all %d workers that serve it are busy", w.Workers)
	if w.Workers == 1 {
		busy = "the only worker that serves it is busy"
	}
	return fmt.Sprintf("%s: %s among %d short ones, %s; %s. The oldest short one waits %.3f s.",
		w.Place, sched.Count(w.Queued, "of its tasks waits", "of its tasks wait"), w.QueuedAll[sched.Short], order, busy, w.OldestWait)
}
