package nodemonitor

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// launch gives a worker's core a launch. The core starts it, queues it, refuses it,
// or keeps silent because it came again.
func (o *owner) launch(w *worker, from sched.Addr, it *wire.Item, at time.Time) {
	w.launch, w.at = it, at
	if o.rules.sequenced {
		o.examine(w, it)
	} else if o.stopping || !o.results.CanReport(it.Msg.Owner) {
		w.launch = nil
		o.meter.ignored.Inc() // whoever launched hears of the end of this node, or is no frontend
		return
	}
	o.step(w, from, &it.Msg)
	id := it.Msg.AttemptID()
	if !o.rules.sequenced && w.find(id) == nil && w.core.Holds(id) {
		o.admit(w) // it waits its turn
	}
	w.launch, w.refusal, w.refused = nil, "", false
}

// examine denies a launch for what only the shell can know, so that the core refuses
// it: the slot's sequence number advances, and a recording has the reason.
func (o *owner) examine(w *worker, it *wire.Item) {
	slot := w.core.Slot()
	if it.Msg.Reason = ""; slot.Running != it.Msg.AttemptID() {
		w.refusal = o.objection(it)
	}
	it.Msg.Deny(w.refusal)
	if !w.heldBack {
		w.frozen = slot.Seq
	}
}

// objection is the shell's reason to refuse a launch, "" for none.
func (o *owner) objection(it *wire.Item) string {
	switch {
	case o.stopping:
		return "the node monitor is stopping"
	case !o.results.CanReport(it.Msg.Owner):
		return fmt.Sprintf("node %q cannot tell whom to report to", o.self.Name)
	case !o.results.HasRoom(o.attempts):
		o.full = true
		return o.results.Fullness()
	}
	return ""
}

// refused sends a launch back to whom it came from.
func (o *owner) refused(w *worker, to sched.Addr, m *sched.Message) {
	o.meter.refusals[whyRefused(m)].Inc()
	w.refused = true
	if to.Role == sched.Master {
		o.toMaster(w, m)
		return
	}
	o.sendBack(w, to, m)
}

// sendBack tells a frontend that a task it has bound to the worker does not run
// there: by a result that counts for nothing, since results are repeated until they
// are on its disk. What is said in passing is dropped while the frontend is off the
// roll, and it would wait for that task for ever.
func (o *owner) sendBack(w *worker, to sched.Addr, m *sched.Message) {
	if _, runs := o.runs[m.AttemptID()]; runs || !o.results.CanReport(to) {
		return
	}
	o.results.Reached(to, w.launch.OwnerAddress)
	o.results.Keep(to, results.Result{ID: m.AttemptID(), Outcome: sched.Yielded, Slot: w.number, Reason: m.Reason})
}

// whyRefused returns the label under which a refusal is counted.
func whyRefused(m *sched.Message) int {
	switch sched.RefusalOf(m) {
	case sched.RefusedBusy, sched.RefusedBusyOther, sched.RefusedFull:
		return refusedBusy
	case sched.RefusedEpoch:
		return refusedEpoch
	case sched.RefusedChanged, sched.RefusedWorkerChanged, sched.RefusedUnasked, sched.RefusedLate:
		return refusedSeq
	case sched.RefusedReserved:
		return refusedReserved
	default:
		return refusedByNode
	}
}

// refuseMissing refuses a launch at a slot that is not there any more; the next
// snapshot tells the master so.
func (o *owner) refuseMissing(it *wire.Item) {
	reason := fmt.Sprintf("node %q has no slot %d now", o.self.Name, it.To.Slot)
	o.meter.refusals[refusedByNode].Inc()
	m := sched.Message{Kind: sched.Refused, Job: it.Msg.Job, First: it.Msg.First, Attempt: it.Msg.Attempt, Seq: it.Msg.Seq, Reason: reason}
	o.forMaster = append(o.forMaster, wire.Item{From: it.To, To: o.masterRef, Msg: m})
}

// release tells the master of the slots that were held back, once there is room.
func (o *owner) release() {
	if o.stopping || !o.results.HasRoom(o.attempts) {
		return
	}
	o.full = false
	for _, w := range o.live() {
		if w.heldBack {
			w.heldBack = false
			o.toMaster(w, &sched.Message{Kind: sched.Idle, Seq: w.core.Slot().Seq})
		}
	}
}
