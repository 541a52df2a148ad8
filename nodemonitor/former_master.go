package nodemonitor

import "github.com/pigeon-sched/pigeon/internal/sched"

// formerMaster holds back what a master sends, from the moment at which this node describes
// its slots to a master that may be another one until that one has answered: a task that the
// former one launches in between would be missing from the description, and would be launched
// a second time. It is used where a group has several masters, since two of them may for a moment
// believe that they lead, and belongs to the owner goroutine.
type formerMaster struct {
	several bool
	leaving bool  // this node has described itself, and no master has accepted it yet
	process int64 // of the master that last accepted it
	held    []event
}

// describes is called before this node describes its slots.
func (f *formerMaster) describes(process int64) {
	f.leaving, f.process = f.several && process != 0, process
}

// holds reports whether a batch must wait or be dropped, and keeps one that must wait. epoch
// is the highest that this node has seen.
func (f *formerMaster) holds(e *event, epoch uint64, registeredWith int64) (held, dropped bool) {
	b := e.batch
	switch {
	case !f.several || b.Sender.Role != sched.Master:
		return false, false
	case f.leaving && b.Incarnation == f.process:
		f.held = append(f.held, *e)
		return true, false
	}
	return false, b.Epoch < epoch && b.Incarnation != registeredWith
}

// accepted is called when a master has accepted this node. It returns the batches that had to
// wait, if it is the same master.
func (f *formerMaster) accepted(process int64) (held, dropped []event) {
	all := f.held
	f.leaving, f.held = false, nil
	if process == f.process {
		return all, nil
	}
	return nil, all
}
