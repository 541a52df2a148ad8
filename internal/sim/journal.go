package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// A frontend's Persist actions are its journal. Records reach the disk together, a while
// after they were written; what waits for them is done then: a job is accepted, a result
// is acknowledged. A frontend may die between any two records.

const syncWithin = 20 * sched.Millisecond

// torn is a frontend that dies within its next step, after so many of its records.
type torn struct{ after int } // -1: none does

// write adds a record to a frontend's journal.
func (w *World) write(f *daemon, m *sched.Message) {
	f.journal = append(f.journal, *m)
	if w.byHand {
		return
	}
	w.sync(f)
}

// sync has the records so far reach the disk soon.
func (w *World) sync(f *daemon) {
	if f.syncing {
		return
	}
	f.syncing = true
	w.after(&f.process, w.cfg.Delay+w.span(w.random, syncWithin), func() {
		done := f.waiting
		f.synced, f.waiting, f.syncing = len(f.journal), nil, false
		for _, do := range done {
			do()
		}
	})
}

// onDisk calls f when all records so far are on the disk; not if the frontend dies
// before.
func (w *World) onDisk(d *daemon, f func()) {
	if w.byHand {
		d.synced = len(d.journal)
		f()
		return
	}
	d.waiting = append(d.waiting, f)
	w.sync(d)
}

// persist enters what a core has decided into its frontend's journal.
func (w *World) persist(self sched.Addr, m *sched.Message) {
	f := w.at(self).daemon
	w.write(f, m)
	w.count(f, m)
}

// tear ends a frontend inside its step: the first records are in its journal, and nothing
// has left it. It does not come to that when the step has fewer.
func (w *World) tear(f *daemon, out []sched.Action) bool {
	if w.torn.after < 0 {
		return false
	}
	records := 0
	for i := range out {
		if out[i].Kind == sched.Persist {
			records++
		}
	}
	if records <= w.torn.after {
		return false
	}
	for i := range out {
		if out[i].Kind == sched.Persist && w.torn.after > 0 {
			w.torn.after--
			w.persist(f.host.addr, &out[i].Msg)
		}
	}
	w.torn.after = -1
	w.killFrontend(f.id, 0, 0)
	w.logf("%s dies within a step, between two records", f.place)
	w.backIn(w.span(w.plan, downAtMost), func() { w.startFrontend(f.id) })
	return true
}

// restore feeds a frontend's journal to its new core: the jobs that have not ended.
func (w *World) restore(f *daemon) {
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
		w.input(f.host, sched.Addr{}, &m)
	}
	if len(records) > 0 && f.alive {
		w.input(f.host, sched.Addr{}, &sched.Message{Kind: sched.Restored})
	}
}

// submit hands a frontend a new job. It is accepted when it is on the disk; tasks are
// sent to masters meanwhile.
func (w *World) submit(i int, m sched.Message) {
	f := w.frontends[i]
	j := w.check.newJob(&m, i)
	w.write(f, &m)
	w.onDisk(f, func() { j.accepted = true })
	w.input(f.host, sched.Addr{}, &m)
}

// arrive is called when a job arrives: the application tries until its frontend answers.
func (w *World) arrive(i int, m sched.Message) {
	f := w.frontends[i]
	if !f.alive || f.resumes > w.now {
		w.call(w.now+100*sched.Millisecond, func() { w.arrive(i, m) })
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
	w.submit(i, m)
}

// cancel has a job's frontend learn that the job is not wanted any more.
func (w *World) cancel(j *job) {
	if f := w.frontends[j.owner]; f.alive {
		w.input(f.host, sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: j.id, Reason: "cancelled"})
	}
}

// acknowledge answers a report when what it led to is on the disk.
func (w *World) acknowledge(f *daemon, e *envelope) {
	n, id := w.nodes[e.from.id], e.msg.AttemptID()
	if n.life != e.fromLife {
		return
	}
	w.onDisk(f, func() {
		switch {
		case w.byHand:
			n.confirm(id)
		case w.chance(Loss, lossIn) || w.blocked(ends{f.place, n.place}):
		default:
			w.after(&n.process, w.transit(), func() { n.confirm(id) })
		}
	})
}
