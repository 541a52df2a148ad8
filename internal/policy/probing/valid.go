package probing

import "fmt"

// Valid checks the distributor's invariants between steps; it looks at every
// task.
func (d *Distributor) Valid() error {
	if len(d.jobs) != d.led.Jobs() {
		return fmt.Errorf("%d jobs are tracked, the ledger has %d", len(d.jobs), d.led.Jobs())
	}
	for id, j := range d.jobs {
		if d.led.Job(id) != j.Job {
			return fmt.Errorf("job %s is not the ledger's", id)
		}
		if err := j.valid(); d.restored && err != nil {
			return err
		}
	}
	return d.led.Valid()
}

// Valid checks the worker's invariants between steps.
func (w *Worker) Valid() error {
	long := 0
	for _, e := range w.queue.All() {
		if e.Assigned() {
			long++
		}
	}
	if w.busy && w.central {
		long++
	}
	switch {
	case w.busy && w.asking:
		return fmt.Errorf("the slot runs %s and requests a task", w.current)
	case w.busy && w.current.Attempt < 1:
		return fmt.Errorf("the slot runs %s", w.current)
	case w.Free() && w.queue.Len() > 0:
		return fmt.Errorf("the slot is free while %d entries wait", w.queue.Len())
	case w.asking && (w.at < 0 || w.at >= w.queue.Len() || w.queue.At(w.at).Assigned()):
		return fmt.Errorf("the slot requests a task for entry %d of %d", w.at, w.queue.Len())
	case long != w.long:
		return fmt.Errorf("%d assigned tasks are here, counted as %d", long, w.long)
	}
	return nil
}
