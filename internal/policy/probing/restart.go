package probing

import (
	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// A restarted distributor does not know where its tasks run: the journal does not record
// it. Workers report what they hold (Held), and it adopts that. A task that no worker
// has reported two seconds after the first membership gets a new number and is probed
// for (docs/adr/0017-attempt-identity.md).

// doubtToken differs from the tokens of a distributor that runs alongside this one.
const doubtToken = 1 << 62

// restored reports whether the job was read from the journal: then no worker has
// confirmed its unfinished tasks yet.
func (j *Job) restored() bool {
	for i := range j.Tasks {
		if j.Tasks[i].Outcome == sched.Unfinished {
			return j.Tasks[i].Unconfirmed
		}
	}
	return false
}

// adopt makes the unfinished tasks of a restored job wait for reports.
func (j *Job) adopt() {
	for i := range j.bound {
		if j.isUnbound(int32(i)) {
			j.bound[i] = inDoubt
			j.unbound--
		}
	}
}

// awaitReports starts the wait when workers are known.
func (d *Distributor) awaitReports(now sched.Time, out *sched.Actions) {
	if d.restored && d.doubt && !d.awaiting && len(d.members) > 0 {
		d.awaiting = true
		out.Timer(now+ledger.ReportsWithin, doubtToken)
	}
}

// held processes a worker's report of what it holds.
func (d *Distributor) held(from sched.Addr, m *sched.Message, out *sched.Actions) {
	if d.restored {
		for _, id := range m.Kept {
			d.led.Alive(id, out)
		}
	}
	if !d.restored || !d.doubt {
		return
	}
	if from.Role != sched.Worker {
		from = m.Peer
	}
	for _, id := range m.Kept {
		j := d.jobs[id.Job]
		if j == nil || !j.Has(id.Task) || j.bound[id.Task] != inDoubt || !d.led.Confirm(j.Job, id.Task, id.Attempt) {
			continue
		}
		if from.Role == sched.Worker && d.alive(from.ID) {
			j.bound[id.Task] = from.ID
		}
	}
}

// resolveDoubts ends the wait: it probes, for new attempts, for the tasks that no worker
// has reported.
func (d *Distributor) resolveDoubts(now sched.Time, token uint64, out *sched.Actions) {
	if token != doubtToken || !d.awaiting {
		return
	}
	d.doubt, d.awaiting = false, false
	d.led.Each(func(entry *ledger.Job) {
		j := d.jobs[entry.ID]
		d.renumber(j, out)
		if d.led.Job(entry.ID) == nil {
			delete(d.jobs, entry.ID)
			return
		}
		for i := range j.bound {
			if j.bound[i] == inDoubt && j.Tasks[i].Outcome == sched.Unfinished {
				j.Tasks[i].Unconfirmed, d.doubt = true, true
			}
		}
		d.probe(j, out)
	})
	if d.doubt {
		d.awaiting = true
		out.Timer(now+ledger.HeldAgain, doubtToken)
	}
}

// renumber gives new numbers to the tasks of a job that no worker has reported.
func (d *Distributor) renumber(j *Job, out *sched.Actions) {
	missing := func(i int32) bool {
		return j.Has(i) && j.bound[i] == inDoubt && j.Tasks[i].Unconfirmed && j.Tasks[i].Outcome == sched.Unfinished
	}
	for i := int32(0); j.Has(i); {
		first := i
		for missing(i) && ledger.Alike(&j.Tasks[i], &j.Tasks[first]) {
			i++
		}
		if i == first {
			i++
			continue
		}
		v := d.led.Renumber(j.Job, first, i-first, "nobody held it when its frontend was started again", out)
		for k := first; k < i; k++ {
			if v == ledger.Again {
				j.unbind(k)
			} else {
				j.end(k)
			}
		}
	}
}
