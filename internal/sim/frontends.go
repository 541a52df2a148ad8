package sim

import "github.com/pigeon-sched/pigeon/internal/sched"

// frontendShells imitates the daemons around the cores of distributors, and the
// applications that submit to them.
type frontendShells struct {
	*cluster
	faults     *Faults
	draws      *draws
	net        *network
	hosts      *hosts
	check      *checker
	heartbeats *heartbeats
	publisher  *publisher
	nodeShells *nodeShells
}

// start starts a frontend, which restores its journal.
func (sh *frontendShells) start(i int) {
	f := sh.frontends[i]
	f.life++
	f.alive = true
	f.clock = sh.draws.drawClock()
	f.met = map[daemonID]int{}
	f.membership, f.lastHeard = membership{}, map[int]sched.Time{}
	if f.lost == nil {
		f.lost = map[int]bool{}
	}
	cfg := sched.DistributorConfig{
		Self: sched.Addr{Role: sched.Distributor, ID: int32(i)}, Seed: sh.cfg.Seed, Params: sh.cfg.Params, FirstAttempt: f.firstAttempt(), //nolint:gosec // frontends are few
	}
	f.host = sh.hosts.addHost(sched.Distributor, &f.process, func() validCore { return sh.cfg.Policy.NewDistributor(cfg) })
	f.host.daemon = f
	sh.restore(f)
	if !f.alive {
		return
	}
	for g, m := range sh.masters {
		switch {
		case m.alive:
			sh.heartbeats.announceMaster(m, f)
		case f.lost[g]:
			sh.heartbeats.loseMaster(f, g)
		}
	}
	sh.nodeShells.announceFrontend(f)
	sh.submitAgain(f)
	sh.heartbeats.startDaemon(f, func() { sh.heartbeat(f) })
}

// kill ends a frontend. The first keep messages on each of its links may still
// arrive; its journal loses at most the given number of unwritten records, none of
// which is on its disk.
func (sh *frontendShells) kill(i, keep, unwritten int) {
	f := sh.frontends[i]
	f.alive = false
	f.journal.crash(unwritten)
	sh.net.dropTraffic(f.daemonID, keep)
	sh.check.recount(f)
}

func (sh *frontendShells) heartbeat(f *daemon) {
	sh.publisher.read(&f.process)
	sh.heartbeats.loseSilentMasters(f)
}

func (sh *frontendShells) deliver(f *daemon, e *envelope, m *sched.Message) {
	if sh.superseded(f, e) {
		return
	}
	by := sh.actsAs(e.from)
	from := sched.Addr{Role: by.role, ID: int32(by.id)} //nolint:gosec // daemons are few
	switch {
	case by.role == sched.Master:
		sh.heartbeats.masterResponded(f, by.id)
		if e.beat {
			return
		}
		if m.Kind == sched.MasterUp {
			from = sched.Addr{}
			f.lost[by.id] = false
		}
	case e.from.role == sched.Worker && sh.cfg.Policy.SingleMaster():
		from.ID = e.by.number
	}
	sh.hosts.stepCore(f.host, from, m)
	if m.Kind == sched.Report && f.alive {
		sh.acknowledge(f, e)
	}
}

// persistRecord appends a core's Persist action to its frontend's journal.
func (sh *frontendShells) persistRecord(self sched.Addr, m *sched.Message) {
	f := sh.hosts.hostOf(self).daemon
	if f.journal.append(m); f.journal.next != nil { // it counts if the journal takes it
		return
	}
	sh.check.countRecord(f, m)
	if m.Kind == sched.NewAttempt {
		sh.check.countAttempt(m, sh.now)
	}
}

// restore steps a frontend's new core with its journal, without the jobs that have
// ended.
func (sh *frontendShells) restore(f *daemon) {
	open, some := f.journal.restart()
	for k := range open {
		if !f.alive {
			return
		}
		m := open[k]
		m.Resent = m.Kind == sched.Submit
		sh.hosts.stepCore(f.host, sched.Addr{}, &m)
	}
	if some && f.alive {
		sh.hosts.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Restored})
	}
}

// acceptJob submits a job to a frontend. The job counts as accepted when its record is
// on the disk; its tasks are sent to masters without waiting for that.
func (sh *frontendShells) acceptJob(i int, m sched.Message) {
	f := sh.frontends[i]
	m.Attempt = f.firstAttempt()
	j := sh.check.newJob(&m, i)
	f.journal.append(&m)
	f.journal.onDisk(func() { j.accepted = true })
	sh.hosts.stepCore(f.host, sched.Addr{}, &m)
}

// jobArrives is called when a job arrives. The application retries until its frontend
// accepts the job.
func (sh *frontendShells) jobArrives(i int, m sched.Message) {
	f := sh.frontends[i]
	if !f.alive || f.resumes > sh.now {
		sh.callAt(sh.now+100*sched.Millisecond, func() { sh.jobArrives(i, m) })
		return
	}
	if sh.check.byID[m.Job] != nil {
		return
	}
	r := sched.Rand(sh.faults.Seed, jobStream+m.Key)
	if len(sh.faults.Apps) > 0 {
		m.App = sh.faults.Apps[r.IntN(len(sh.faults.Apps))]
	}
	m.Retries = uint8(r.IntN(2)) //nolint:gosec // 0 or 1
	// Some jobs limit how many of their tasks run at a time.
	if m.Key%7 == 3 {
		m.MaxRunning = m.Count/3 + 1
	}
	if sh.cfg.Policy.Suspending {
		const both = sched.Stoppable | sched.Restartable
		m.Marks = m.Marks&sched.Undeclared | [...]sched.Marks{both, both, sched.Stoppable, sched.Restartable, 0}[r.IntN(5)]
	}
	sh.acceptJob(i, m)
}

// submitAgain makes the applications of a restarted frontend submit those jobs again,
// under the same keys, whose acceptance was not answered and did not reach the disk.
func (sh *frontendShells) submitAgain(f *daemon) {
	for _, j := range sh.check.jobs {
		if j.owner != f.id || j.accepted {
			continue
		}
		sh.after(&f.process, sh.draws.drawDelay(), func() {
			if f.id >= 0 { // else its successor has been asked meanwhile
				sh.acceptJob(f.id, j.submit)
			}
		})
	}
}

// cancel informs a job's frontend that the job is cancelled.
func (sh *frontendShells) cancel(j *job) {
	if f := sh.frontends[j.owner]; f.alive {
		sh.hosts.stepCore(f.host, sched.Addr{}, &sched.Message{Kind: sched.Cancel, Job: j.id, Reason: "cancelled"})
	}
}

// acknowledge confirms a report to its node once the records that it caused are on the
// disk.
func (sh *frontendShells) acknowledge(f *daemon, e *envelope) {
	n, id := sh.nodes[e.from.id], e.msg.AttemptID()
	if n.life != e.fromLife {
		return
	}
	f.journal.onDisk(func() {
		switch {
		case sh.manual:
			n.dropKept(id)
		case sh.draws.chance(Loss, lossIn) || sh.net.blocked(route{f.daemonID, n.daemonID}):
		default:
			sh.after(&n.process, sh.draws.drawDelay(), func() { n.dropKept(id) })
		}
	})
}
