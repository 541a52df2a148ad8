package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A group without a master may have live nodes that run its tasks well. Such nodes report
// what they hold (Held) every second. A task that no node reports gets a new number
// and is placed elsewhere; one that a node reports stays placed with the group, as long
// as it is reported again:
//
//	MasterLost ──4 s──▶ look ──10 s──▶ look ... until MasterUp
//
// Reports count from the loss on, and then from one look to the next, so that their order
// alone decides.

const (
	// lossReported is how long after the loss of a master its nodes may report: they do so
	// every second, or every two where a busy machine delays them.
	lossReported = 4 * sched.Second
	// lookEvery is the time between two looks at the tasks of a group without a master.
	lookEvery = 10 * sched.Second
	// lookLate is a delay of a look that means that this process was paused: the reports of
	// that time may be queued behind the timer.
	lookLate = sched.Second
)

// loss is the wait for the reports of the nodes of a group without a master.
type loss struct {
	token uint64 // of the timer of the next look, 0 for none
	at    sched.Time
}

// masterLost begins to wait for the nodes of a group without a master.
func (d *Distributor) masterLost(now sched.Time, m *sched.Message, out *sched.Actions) {
	g := d.group(m.Peer)
	if g == nil {
		return
	}
	g.up, g.lost, g.serves, g.answer.token = false, true, nil, 0
	if d.restored && g.loss.token == 0 {
		d.doubt(now, g, int16(m.Peer.ID), lossReported, out) //nolint:gosec // a master id
	}
}

// doubt records that no task of a group without a master has been reported, and looks at
// them again after a while.
func (d *Distributor) doubt(now sched.Time, g *group, place int16, wait sched.Time, out *sched.Actions) {
	some := false
	d.led.Each(func(j *ledger.Job) {
		for i := range j.Tasks {
			if t := &j.Tasks[i]; at(t, place) {
				t.Unconfirmed, some = true, true
			}
		}
	})
	if g.loss = (loss{}); some {
		d.lookAt(now+wait, g, out)
	}
}

func (d *Distributor) lookAt(at sched.Time, g *group, out *sched.Actions) {
	g.loss = loss{token: d.timerFor(at, out), at: at}
}

// look gives new numbers to the tasks of a group without a master that no node has reported,
// and places them elsewhere. If the master is alive after all, such tasks may run twice, and
// one result of each counts.
func (d *Distributor) look(now sched.Time, g *group, place int16, out *sched.Actions) {
	if now > g.loss.at+lookLate {
		d.lookAt(now+lossReported, g, out)
		return
	}
	d.led.Each(func(j *ledger.Job) {
		eachAlike(j, 0, sched.MaxTasks, func(i int32) bool {
			t := &j.Tasks[i]
			return at(t, place) && t.Unconfirmed
		}, together, func(first, count int32) {
			d.renumber(j, first, count, false, "its group had no master, and no node reported it", out)
		})
		d.place(j, out)
		d.hold(j)
	})
	d.doubt(now, g, place, lookEvery, out)
}

// heldInLostGroup records that a node holds a task of a group without a master, which stays
// placed there. It returns false for other tasks.
func (d *Distributor) heldInLostGroup(j *ledger.Job, task, attempt int32) bool {
	t := &j.Tasks[task]
	if t.Place < 0 || int(t.Place) >= len(d.groups) || !d.groups[t.Place].lost {
		return false
	}
	if t.Unconfirmed && d.led.Confirm(j, task, attempt) {
		d.groups[t.Place].answer.early = true
	}
	return true
}
