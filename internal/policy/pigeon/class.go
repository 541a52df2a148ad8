package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// reclass records that a task showed its job to be of another class, and informs the
// masters that hold its tasks. From the shell the message is a journal record.
func (d *Distributor) reclass(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if from.Role != sched.Master {
		d.led.Restore(now, m)
		return
	}
	j := d.led.Job(m.Job)
	if j == nil || !d.restored || !d.led.Reclass(j, m.Class, out) {
		return
	}
	for _, p := range places(j, func(t *ledger.Task) bool { return t.Outcome == sched.Unfinished }) {
		r := out.Send(master(p), sched.Reclass)
		r.Job, r.Class = j.ID, j.Class
	}
}
