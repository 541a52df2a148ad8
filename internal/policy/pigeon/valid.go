package pigeon

import (
	"fmt"
	"strings"

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
		if int(w.addr.ID) != id || w.Worker != w.addr.ID {
			return fmt.Errorf("worker %d is recorded under %d", w.addr.ID, id)
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
	if slots != s.slots.chosen || reserved != s.slots.reserved || reserved != s.slots.want() {
		return fmt.Errorf("%d of %d slots are reserved, counted as %d of %d; round(share x slots) is %d",
			reserved, slots, s.slots.reserved, s.slots.chosen, s.slots.want())
	}
	if err := s.hooks.valid(); err != nil {
		return err
	}
	if err := s.validShares(); err != nil {
		return err
	}
	if err := s.wide.valid(); err != nil {
		return err
	}
	return s.validJobs()
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
		for w := s.workers.running(j); w != nil; w = w.next {
			if w.job != j {
				return fmt.Errorf("job %s: worker %d is listed as running it", id, w.addr.ID)
			}
			running++
		}
		switch {
		case j.ID != id || isUnit(j) && s.index.Find(j.App().Name) != j.App():
			return fmt.Errorf("job %s is recorded as %s, of application %q", j.ID, id, j.App().Name)
		case waiting != j.Queued || running != j.Running:
			return fmt.Errorf("job %s: %d tasks wait and %d run, counted as %d and %d", id, waiting, running, j.Queued, j.Running)
		case waiting+running == 0 && s.hooks.suspended(j) == 0 && (s.wide == nil || !s.wide.holds(j)):
			return fmt.Errorf("job %s is kept with nothing queued or running", id)
		case waiting > 0 && j.App().Workers == 0:
			return fmt.Errorf("job %s: %d tasks wait, and no worker serves %q", id, waiting, j.App().Name)
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

// validShares compares what the tree of owners counts with the workers.
func (s *Master) validShares() error {
	if err := s.index.Valid(); err != nil {
		return err
	}
	type sums struct{ running [sched.NumClasses]int }
	ran, total := map[string]*sums{}, sums{}
	add := func(b *bill, running int) error {
		if b.leaf == nil {
			return fmt.Errorf("a task is charged to nobody")
		}
		if ran[b.leaf.Path()] == nil {
			ran[b.leaf.Path()] = &sums{}
		}
		ran[b.leaf.Path()].running[b.class] += running
		total.running[b.class] += running
		return nil
	}
	for _, w := range s.workers {
		if w == nil {
			continue
		}
		if w.job != nil || w.of != nil {
			if err := add(&w.bill, 1); err != nil {
				return err
			}
		} else if w.bill.leaf != nil {
			return fmt.Errorf("worker %d runs nothing, and %q is charged", w.addr.ID, w.bill.leaf.Path())
		}
		for _, h := range w.held {
			if err := add(&h.bill, 0); err != nil {
				return err
			}
		}
	}
	for _, v := range s.Owners() {
		want := total.running
		if v.Owner != "" {
			want = [sched.NumClasses]int{}
			for path, r := range ran {
				if path == v.Owner || strings.HasPrefix(path, v.Owner+"/") {
					want[0] += r.running[0]
					want[1] += r.running[1]
				}
			}
		}
		if v.Running != want {
			return fmt.Errorf("owner %q runs %v, counted as %v", v.Owner, want, v.Running)
		}
	}
	return nil
}
