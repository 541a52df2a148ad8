package pigeon

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// valid implements hooks. It checks the records of suspended tasks, of those that can
// be, and of short ones that run.
func (e *extension) valid() error {
	count, ran := map[*queue.Job]int32{}, map[*queue.Job]sched.Time{}
	longs := 0
	for _, w := range e.workers {
		if w == nil {
			continue
		}
		for _, h := range w.held {
			count[h.job]++
			ran[h.job] += h.stint.attained
		}
		if held := len(w.held); held > mostSuspended || (held > 0 && w.Listed()) {
			return fmt.Errorf("worker %d holds %d suspended tasks; idle: %v", w.addr.ID, held, w.Listed())
		}
		if w.resumed && w.job == nil {
			return fmt.Errorf("worker %d continues a task and runs none", w.addr.ID)
		}
		if w.preemptible() {
			longs++
			if w.longAt == 0 || e.longs[w.longAt-1] != w {
				return fmt.Errorf("worker %d can be preempted and is not listed", w.addr.ID)
			}
		}
		if can := w.job != nil && e.watches(w); w.watch.on != can && (w.watch.on || e.options.Canary) {
			return fmt.Errorf("worker %d: the time of a short task is measured: %v", w.addr.ID, w.watch.on)
		}
	}
	if longs != len(e.longs) {
		return fmt.Errorf("%d workers can be preempted, %d are listed", longs, len(e.longs))
	}
	for id, j := range e.jobs {
		if f := e.facts[j]; f == nil || f.held != count[j] || f.suspended != ran[j] {
			return fmt.Errorf("job %s: %d of its tasks are suspended, counted otherwise", id, count[j])
		}
	}
	if e.measure.due != e.tail.due() || e.options.Tail != (e.measure.due > 0) {
		return fmt.Errorf("jobs should end by age %d, with a learned limit of %d", e.measure.due, e.tail.limit)
	}
	if len(e.facts) != len(e.jobs) {
		return fmt.Errorf("facts of %d jobs are kept, and there are %d jobs", len(e.facts), len(e.jobs))
	}
	return e.watched.valid()
}

func (l *watchlist) valid() error {
	if l.first != nil && !l.timer {
		return fmt.Errorf("short tasks run, and no timer for them")
	}
	var last *worker
	for w := l.first; w != nil; w = w.watch.after {
		if !w.watch.on || w.watch.before != last || (last != nil && last.watch.due > w.watch.due) {
			return fmt.Errorf("worker %d is out of place in the list of running short tasks", w.addr.ID)
		}
		last = w
	}
	if l.last != last {
		return fmt.Errorf("the list of running short tasks has another end")
	}
	return nil
}
