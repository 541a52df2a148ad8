package slots

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// launch steps a launch. The core starts it, queues it, refuses it, or ignores it as a
// repetition.
func (s *Workers) launch(w *worker, from sched.Addr, it *wire.Item, at time.Time) {
	now := step{worker: w, launch: it, at: at}
	if s.cfg.Policy.Sequenced {
		now.denial = s.admission.examine(w, it)
	} else if s.admission.stopping || !s.cfg.Results.CanReport(it.Msg.Distributor) {
		s.cfg.Metrics.ignored.Inc() // the sender will find this node stopped, or is no frontend
		return
	}
	s.cores.carryOut(now, from, &it.Msg)
	id := it.Msg.AttemptID()
	if !s.cfg.Policy.Sequenced && w.attempts.find(id) == nil && w.core.Holds(id) {
		s.attempts.admit(w, it, at) // it waits its turn
	}
}

// refuseMissing refuses a launch at a slot that was removed; the next snapshot does not
// list it.
func (s *Workers) refuseMissing(it *wire.Item) {
	reason := fmt.Sprintf("node %q has no slot %d now", s.cfg.Self.Ref.Name, it.To.Slot)
	s.cfg.Metrics.refusals[refusedByNode].Inc()
	m := sched.Message{Kind: sched.Refused, Job: it.Msg.Job, First: it.Msg.First, Attempt: it.Msg.Attempt, Seq: it.Msg.Seq, Reason: reason}
	s.out.forMaster = append(s.out.forMaster, wire.Item{From: it.To, To: s.cfg.MasterRef, Msg: m})
}
