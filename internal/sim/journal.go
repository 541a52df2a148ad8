package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// A frontend's Persist actions are its journal. Records reach the disk together, some time
// after they were appended; only then are jobs accepted and results acknowledged. A
// frontend may die between any two records.

const syncWithin = 20 * sched.Millisecond

// appendRecord appends a record to a frontend's journal.
func (w *world) appendRecord(f *daemon, m *sched.Message) {
	f.journal = append(f.journal, *m)
	if w.manual {
		return
	}
	w.sync(f)
}

// sync schedules the instant at which the records so far are on the disk.
func (w *world) sync(f *daemon) {
	if f.syncing {
		return
	}
	f.syncing = true
	w.after(&f.process, w.cfg.Delay+drawSpan(w.random, syncWithin), func() {
		done := f.waiting
		f.synced, f.waiting, f.syncing = len(f.journal), nil, false
		for _, do := range done {
			do()
		}
	})
}

// onDisk calls f when all records so far are on the disk, unless the frontend dies
// before.
func (w *world) onDisk(d *daemon, f func()) {
	if w.manual {
		d.synced = len(d.journal)
		f()
		return
	}
	d.waiting = append(d.waiting, f)
	w.sync(d)
}

// persistRecord appends a core's Persist action to its frontend's journal.
func (w *world) persistRecord(self sched.Addr, m *sched.Message) {
	f := w.hostOf(self).daemon
	w.appendRecord(f, m)
	w.countRecord(f, m)
}

// crashInStep ends a frontend within its step: the first tornAfter records are in its
// journal, and none of its messages has been sent. It reports false if the step has too
// few records.
func (w *world) crashInStep(f *daemon, out []sched.Action) bool {
	if w.tornAfter < 0 {
		return false
	}
	records := 0
	for i := range out {
		if out[i].Kind == sched.Persist {
			records++
		}
	}
	if records <= w.tornAfter {
		return false
	}
	for i := range out {
		if out[i].Kind == sched.Persist && w.tornAfter > 0 {
			w.tornAfter--
			w.persistRecord(f.host.addr, &out[i].Msg)
		}
	}
	w.tornAfter = -1
	w.killFrontend(f.id, 0, 0)
	w.logf("%s dies within a step, between two records", f.daemonID)
	w.callAt(w.now+drawSpan(w.plan, downAtMost), func() { w.startFrontend(f.id) })
	return true
}

// restore steps a frontend's new core with its journal, without the jobs that have
// ended.
func (w *world) restore(f *daemon) {
	ended := map[sched.JobID]bool{}
	for k := range f.journal {
		if f.journal[k].Kind == sched.JobEnded {
			ended[f.journal[k].Job] = true
		}
	}
	f.synced = len(f.journal)
	records := f.journal
	for k := range records {
		m := records[k]
		if ended[m.Job] {
			continue
		}
		if !f.alive {
			return
		}
		m.Resent = m.Kind == sched.Submit
		w.stepCore(f.host, sched.Addr{}, &m)
	}
	if len(records) > 0 && f.alive {
		w.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Restored})
	}
}

// acceptJob submits a job to a frontend. The job counts as accepted when its record is
// on the disk; its tasks are sent to masters without waiting for that.
func (w *world) acceptJob(i int, m sched.Message) {
	f := w.frontends[i]
	j := w.check.newJob(&m, i)
	w.appendRecord(f, &m)
	w.onDisk(f, func() { j.accepted = true })
	w.stepCore(f.host, sched.Addr{}, &m)
}

// jobArrives is called when a job arrives. The application retries until its frontend
// accepts the job.
func (w *world) jobArrives(i int, m sched.Message) {
	f := w.frontends[i]
	if !f.alive || f.resumes > w.now {
		w.callAt(w.now+100*sched.Millisecond, func() { w.jobArrives(i, m) })
		return
	}
	if w.check.byID[m.Job] != nil {
		return
	}
	r := sched.Rand(w.faults.Seed, jobStream+m.Key)
	if len(w.faults.Apps) > 0 {
		m.App = w.faults.Apps[r.IntN(len(w.faults.Apps))]
	}
	m.Retries = uint8(r.IntN(2)) //nolint:gosec // 0 or 1
	if w.cfg.Policy.Suspending {
		const both = sched.Stoppable | sched.Restartable
		m.Marks = [...]sched.Marks{both, both, sched.Stoppable, sched.Restartable, 0}[r.IntN(5)]
	}
	w.acceptJob(i, m)
}

// cancel informs a job's frontend that the job is cancelled.
func (w *world) cancel(j *job) {
	if f := w.frontends[j.owner]; f.alive {
		w.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: j.id, Reason: "cancelled"})
	}
}

// acknowledge confirms a report to its node once the records that it caused are on the
// disk.
func (w *world) acknowledge(f *daemon, e *envelope) {
	n, id := w.nodes[e.from.id], e.msg.AttemptID()
	if n.life != e.fromLife {
		return
	}
	w.onDisk(f, func() {
		switch {
		case w.manual:
			n.dropKept(id)
		case w.chance(Loss, lossIn) || w.blocked(route{f.daemonID, n.daemonID}):
		default:
			w.after(&n.process, w.drawDelay(), func() { n.dropKept(id) })
		}
	})
}
