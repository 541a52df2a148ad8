package ledger

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Valid checks the ledger's invariants between steps: its counts are those of
// its tasks. It looks at every task.
func (l *Ledger) Valid() error {
	tasks, jobs := 0, 0
	for j := l.first; j != nil; j = j.next {
		jobs++
		var unfinished, unplaced, waiting, failed, throttled int32
		for i := range j.Tasks {
			t := &j.Tasks[i]
			switch {
			case t.Attempt < j.First:
				return fmt.Errorf("job %s task %d has attempt %d, and the first is %d", j.ID, i, t.Attempt, j.First)
			case t.Outcome == sched.Failed:
				failed++
			case t.Outcome == sched.Unfinished:
				unfinished++
				switch {
				case t.Place == Throttled && (!t.Waits || int32(i) < j.released):
					return fmt.Errorf("job %s task %d is throttled; waits: %v, released below %d", j.ID, i, t.Waits, j.released)
				case t.Place == Throttled:
					throttled++
					waiting++
				case t.Waits:
					waiting++
				case t.Place == Nowhere:
					unplaced++
				}
			}
		}
		tasks += int(unfinished)
		if throttled != j.throttled || (throttled > 0 && unfinished-throttled < j.MaxRunning) {
			return fmt.Errorf("job %s: %d of %d unfinished tasks are throttled, counted as %d, with a limit of %d", j.ID, throttled, unfinished, j.throttled, j.MaxRunning)
		}
		if l.jobs[j.ID] != j || unfinished != j.unfinished || unplaced != j.Unplaced || waiting != j.Waiting || failed != j.failed {
			return fmt.Errorf("job %s: %d tasks unfinished, %d unplaced, %d waiting, %d failed; counted as %d, %d, %d, %d",
				j.ID, unfinished, unplaced, waiting, failed, j.unfinished, j.Unplaced, j.Waiting, j.failed)
		}
	}
	if jobs != len(l.jobs) || tasks != l.tasks {
		return fmt.Errorf("%d jobs with %d unfinished tasks, counted as %d and %d", jobs, tasks, len(l.jobs), l.tasks)
	}
	return nil
}
