package pigeon

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Valid checks the master's invariants between steps; tests call it after each.
// It looks at everything the master holds.
func (s *Master) Valid() error {
	slots, reserved := 0, 0
	var idle [sched.NumWorkerKinds]int
	for id, w := range s.workers {
		if w == nil {
			continue
		}
		if int(w.addr.ID) != id || w.Owner != w.addr.ID {
			return fmt.Errorf("worker %d is entered under %d", w.addr.ID, id)
		}
		if err := s.validWorker(w); err != nil {
			return fmt.Errorf("worker %d: %w", id, err)
		}
		if w.Listed() {
			idle[w.kind()]++
		}
		if !w.fixed {
			slots++
			if w.reserved {
				reserved++
			}
		}
	}
	for k := range idle {
		if got := s.index.Idle(sched.WorkerKind(k)); got != idle[k] {
			return fmt.Errorf("%d workers of kind %d are idle, the index counts %d", idle[k], k, got)
		}
	}
	if slots != s.slots || reserved != s.reserved || reserved != s.wantReserved() {
		return fmt.Errorf("%d of %d slots are reserved, counted as %d of %d; round(share x slots) is %d",
			reserved, slots, s.reserved, s.slots, s.wantReserved())
	}
	if s.sorted != nil {
		if err := s.validHeld(); err != nil {
			return err
		}
	}
	return s.validJobs()
}

// validHeld checks the books of suspended tasks, of those that can be, and of short
// ones that run.
func (s *Master) validHeld() error {
	count := map[*queue.Job]int32{}
	longs := 0
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		if w.held != nil {
			count[w.held.job]++
			if w.Listed() {
				return fmt.Errorf("worker %d holds a suspended task and is idle", w.addr.ID)
			}
		}
		if w.resumed && w.job == nil {
			return fmt.Errorf("worker %d goes on with nothing", w.addr.ID)
		}
		if w.preemptible() {
			longs++
			if w.longAt == 0 || s.sorted.longs[w.longAt-1] != w {
				return fmt.Errorf("worker %d can be preempted and is not listed", w.addr.ID)
			}
		}
		if want := s.trying() && w.job != nil && w.class == sched.Short; w.watch.on != want {
			return fmt.Errorf("worker %d: the clock of a short task runs: %v", w.addr.ID, w.watch.on)
		}
	}
	if longs != len(s.sorted.longs) {
		return fmt.Errorf("%d workers can be preempted, %d are listed", longs, len(s.sorted.longs))
	}
	for id, j := range s.jobs {
		if f := s.sorted.facts[j]; f == nil || f.held != count[j] {
			return fmt.Errorf("job %s: %d of its tasks are suspended, counted otherwise", id, count[j])
		}
	}
	if x := s.sorted; x.index.due != x.tail.due() || x.options.Tail != (x.index.due > 0) {
		return fmt.Errorf("jobs are to end by %d, by the limit of %d", x.index.due, x.tail.limit)
	}
	if len(s.sorted.facts) != len(s.jobs) {
		return fmt.Errorf("facts of %d jobs are kept, of %d", len(s.sorted.facts), len(s.jobs))
	}
	return s.sorted.watched.valid()
}

func (l *watchlist) valid() error {
	if l.first != nil && !l.timer {
		return fmt.Errorf("short tasks run, and no timer for them")
	}
	var last *worker
	for w := l.first; w != nil; w = w.watch.after {
		if !w.watch.on || w.watch.before != last || (last != nil && last.watch.due > w.watch.due) {
			return fmt.Errorf("worker %d is in no place of the list of short tasks that run", w.addr.ID)
		}
		last = w
	}
	if l.last != last {
		return fmt.Errorf("the list of short tasks that run has another end")
	}
	return nil
}

// validWorker holds the main invariant: while a task waits, no worker that may
// take it and serves its application is idle.
func (s *Master) validWorker(w *worker) error {
	if !w.Listed() {
		return nil
	}
	if w.job != nil {
		return fmt.Errorf("idle, and runs task %d of job %s", w.task, w.job.ID)
	}
	for c, kinds := range mayUse {
		for _, k := range kinds {
			if r := s.index.First(w.service, sched.Class(c)); r != nil && k == w.kind() {
				return fmt.Errorf("idle while task %d of job %s waits", r.First, r.Job.ID)
			}
		}
	}
	return nil
}

func (s *Master) validJobs() error {
	var queued [sched.NumClasses]int
	for id, j := range s.jobs {
		var waiting, running int32
		j.EachRun(func(r *queue.Run) {
			waiting += r.Count
			queued[r.Class] += int(r.Count)
		})
		for w := s.firstOf(j); w != nil; w = w.next {
			if w.job != j {
				return fmt.Errorf("job %s: worker %d is listed as running it", id, w.addr.ID)
			}
			running++
		}
		switch {
		case j.ID != id || s.index.Find(j.App.Name) != j.App:
			return fmt.Errorf("job %s is entered as %s, of application %q", j.ID, id, j.App.Name)
		case waiting != j.Queued || running != j.Running:
			return fmt.Errorf("job %s: %d tasks wait and %d run, counted as %d and %d", id, waiting, running, j.Queued, j.Running)
		case waiting+running == 0 && !s.isHeld(j):
			return fmt.Errorf("job %s is kept with nothing queued or running", id)
		case waiting > 0 && j.App.Workers == 0:
			return fmt.Errorf("job %s: %d tasks wait, and no worker serves %q", id, waiting, j.App.Name)
		}
	}
	for c := range queued {
		if got := s.index.Queued(sched.Class(c)); got != queued[c] {
			return fmt.Errorf("%d tasks of class %d wait, the index counts %d", queued[c], c, got)
		}
	}
	return nil
}

// Valid implements [sched.WorkerCore]: a busy slot runs an attempt.
func (w *Worker) Valid() error {
	if w.busy && w.current.Attempt < 1 {
		return fmt.Errorf("the slot runs %s", w.current)
	}
	return nil
}

// Valid checks the distributor's invariants between steps.
func (d *Distributor) Valid() error { return d.led.Valid() }
