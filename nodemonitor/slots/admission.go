package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// MaxAttempts bounds the attempts at a node under policies whose long tasks wait at
// workers: a hello lists them all.
const MaxAttempts = 10_000

// admission decides which launches the shell denies, whatever the cores would decide,
// and withholds the slots that refused them.
type admission struct {
	cfg      *Config
	attempts *attempts
	workers  *workerList
	out      *Outbox
	full     bool // slots are withheld
	stopping bool
}

// IsFull reports whether the node has no room for more work.
func (s *Workers) IsFull() bool {
	return !s.admission.hasRoom() || s.attempts.n >= MaxAttempts
}

// hasRoom reports whether there is room for the result of one more attempt.
func (d *admission) hasRoom() bool { return d.cfg.Kept.HasRoom(d.attempts.n) }

// denial returns the shell's reason to deny a launch, "" for none.
func (d *admission) denial(it *wire.Item) string {
	switch {
	case d.stopping:
		return "the node monitor is stopping"
	case !d.cfg.Results.CanReport(it.Msg.Owner):
		return fmt.Sprintf("node %q has no frontend to report to", d.cfg.Node.Name)
	case !d.hasRoom():
		d.full = true
		return d.cfg.Kept.Fullness()
	}
	return ""
}

// examine denies a launch for a reason that only the shell can see, so that the core
// refuses it: the slot's sequence number advances, and a recording contains the reason.
func (d *admission) examine(w *worker, it *wire.Item) {
	slot := w.core.Slot()
	if it.Msg.Reason = ""; slot.Running != it.Msg.AttemptID() {
		w.denial = d.denial(it)
	}
	it.Msg.Deny(w.denial)
	if !w.withheld {
		w.reportedSeq = slot.Seq
	}
}

// release reports to the master the slots that were withheld, once there is room.
func (d *admission) release() {
	if d.stopping || !d.hasRoom() {
		return
	}
	d.full = false
	for _, w := range d.workers.live() {
		if w.withheld {
			w.withheld = false
			d.out.toMaster(w, &sched.Message{Kind: sched.Idle, Seq: w.core.Slot().Seq})
		}
	}
}
