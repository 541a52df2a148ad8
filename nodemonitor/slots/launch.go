package slots

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// launch steps a launch. The core starts it, queues it, refuses it, or ignores it
// because it came before.
func (s *Workers) launch(w *worker, from sched.Addr, it *wire.Item, at time.Time) {
	w.launch, w.at = it, at
	if s.cfg.Policy.Sequenced {
		s.examine(w, it)
	} else if s.admission.stopping || !s.cfg.Results.CanReport(it.Msg.Owner) {
		w.launch = nil
		s.cfg.Metrics.ignored.Inc() // the sender learns of the end of this node, or is no frontend
		return
	}
	s.step(w, from, &it.Msg)
	id := it.Msg.AttemptID()
	if !s.cfg.Policy.Sequenced && w.attempts.find(id) == nil && w.core.Holds(id) {
		s.attempts.admit(w) // it waits its turn
	}
	w.launch, w.denial, w.refused = nil, "", false
}

// examine denies a launch for what only the shell can know, so that the core refuses
// it: the slot's sequence number advances, and a recording has the reason.
func (s *Workers) examine(w *worker, it *wire.Item) {
	slot := w.core.Slot()
	if it.Msg.Reason = ""; slot.Running != it.Msg.AttemptID() {
		w.denial = s.admission.denial(it)
	}
	it.Msg.Deny(w.denial)
	if !w.withheld {
		w.reportedSeq = slot.Seq
	}
}

// refuse returns a launch to its sender.
func (s *Workers) refuse(w *worker, to sched.Addr, m *sched.Message) {
	s.cfg.Metrics.refusals[refusalLabel(m)].Inc()
	w.refused = true
	if to.Role == sched.Master {
		s.out.toMaster(w, m)
		return
	}
	s.run.yield(w, to, m)
}

// refusalLabel returns the label under which a refusal is counted.
func refusalLabel(m *sched.Message) int {
	switch sched.RefusalOf(m) {
	case sched.RefusedBusy, sched.RefusedBusyOther, sched.RefusedFull:
		return refusedBusy
	case sched.RefusedEpoch:
		return refusedEpoch
	case sched.RefusedChanged, sched.RefusedWorkerChanged, sched.RefusedUnasked, sched.RefusedLate:
		return refusedOutdated
	case sched.RefusedReserved:
		return refusedReserved
	default:
		return refusedByNode
	}
}

// refuseMissing refuses a launch at a slot that is not there any more; the next
// snapshot lacks it.
func (s *Workers) refuseMissing(it *wire.Item) {
	reason := fmt.Sprintf("node %q has no slot %d now", s.cfg.Node.Name, it.To.Slot)
	s.cfg.Metrics.refusals[refusedByNode].Inc()
	m := sched.Message{Kind: sched.Refused, Job: it.Msg.Job, First: it.Msg.First, Attempt: it.Msg.Attempt, Seq: it.Msg.Seq, Reason: reason}
	s.out.forMaster = append(s.out.forMaster, wire.Item{From: it.To, To: s.cfg.MasterRef, Msg: m})
}

// release reports to the master the slots that were withheld, once there is room.
func (s *Workers) release() {
	if s.admission.stopping || !s.admission.hasRoom() {
		return
	}
	s.admission.full = false
	for _, w := range s.workers.live() {
		if w.withheld {
			w.withheld = false
			s.out.toMaster(w, &sched.Message{Kind: sched.Idle, Seq: w.core.Slot().Seq})
		}
	}
}
