package slots

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
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
	left     bool       // and no slot is described any more
	draining string     // why nothing new is taken, "" while there is no drain
	since    sched.Time // of the drain
}

// Limit is what a node has no room for. It does not change.
type Limit struct {
	attempts bool                            // there are as many as there may be
	full     map[sched.Addr]results.Capacity // frontends without room
}

// Refuses reports whether a launch for a frontend is refused. A launch by the master is not
// refused if the frontend is silent: launches behind it must not wait. It then ends
// unstarted.
func (f *Limit) Refuses(distributor sched.Addr, byMaster bool) bool {
	if f == nil || f.attempts {
		return f != nil
	}
	capacity := f.full[distributor]
	return capacity != results.Room && !(capacity == results.Silent && byMaster)
}

// Limit returns what the node has no room for, nil when it has room for all.
func (s *Workers) Limit() *Limit {
	attempts, full := s.attempts.running.All() >= MaxAttempts, s.cfg.Results.Full(&s.attempts.running)
	if !attempts && len(full) == 0 {
		return nil
	}
	return &Limit{attempts, full}
}

// capacity returns whether there is room for the result of one more attempt of a frontend.
func (d *admission) capacity(distributor sched.Addr) results.Capacity {
	return d.cfg.Results.Capacity(distributor, &d.attempts.running)
}

// nothingNew returns why the node takes nothing new, "" when it does.
func (d *admission) nothingNew() string {
	if d.stopping {
		return "the node monitor is stopping"
	}
	return d.draining
}

// denial returns the shell's reason to deny a launch, "" for none.
func (d *admission) denial(it *wire.Item) string {
	distributor := it.Msg.Distributor
	switch {
	case d.nothingNew() != "":
		return d.nothingNew()
	case !d.cfg.Results.CanReport(distributor):
		return fmt.Sprintf("node %q has no frontend to report to", d.cfg.Self.Ref.Name)
	case d.capacity(distributor) != results.Room:
		d.full = true
		return d.cfg.Results.Fullness(distributor)
	}
	return ""
}

// examine denies a launch for a reason that only the shell can see, so that the core
// refuses it: the slot's sequence number advances, and a recording contains the reason. It
// returns the reason, "" for none.
func (d *admission) examine(w *worker, it *wire.Item) (denial string) {
	slot := w.core.Slot()
	if it.Msg.Reason = ""; slot.Running != it.Msg.AttemptID() {
		if denial = d.denial(it); denial != "" {
			w.deniedTo = it.Msg.Distributor
		}
	}
	it.Msg.Deny(denial)
	if !w.withheld {
		w.reportedSeq = slot.Seq
	}
	return denial
}

// release reports to the master the slots that were withheld, once there is room for the
// frontend whose launch was denied. In turn, once in a heartbeat, it also does so when that
// frontend is silent: there is room for other frontends, for which the master may have a
// task.
func (d *admission) release(inTurn bool) {
	if d.stopping || !d.full && !inTurn {
		return
	}
	d.full = false
	for _, w := range d.workers.live() {
		if !w.withheld || w.withdrawn || d.draining != "" {
			continue
		}
		if c := d.capacity(w.deniedTo); c == results.Room || inTurn && c == results.Silent {
			w.withheld = false
			d.out.toMaster(w, &sched.Message{Kind: sched.Idle, Seq: w.core.Slot().Seq})
		} else {
			d.full = true
		}
	}
}
