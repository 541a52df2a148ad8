package sim

import (
	"context"
	"regexp"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Report is the result of a run with faults.
type Report struct {
	Jobs, Done, Failed, Cancelled int // accepted jobs, and how they ended
	Attempts, Suspensions         int
	Steps                         int        // of cores
	End                           sched.Time // of the run
	Checks                        []Check
	Faults                        []int // numbers of the planned faults that happened
	Counts                        FaultCounts
	history                       *history
}

// History returns the last steps of the cores as text: the input of each, and below it
// the actions.
func (r *Report) History(steps int) string { return r.history.last(steps) }

// HistoryOf is History of the steps that concern the job which the violation names, "" when
// it names none.
func (r *Report) HistoryOf(violation error, steps int) string {
	return r.history.lastOf(jobName.FindString(violation.Error()), steps)
}

// jobName matches the id of a job.
var jobName = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

// Violated returns the first violation, or nil if every check held.
func (r *Report) Violated() error {
	for i := range r.Checks {
		if err := r.Checks[i].Violated; err != nil {
			return err
		}
	}
	return nil
}

// patience is the virtual time, counted from the end of the faults, within which another
// job must end, or another result be accepted.
const patience = 1000 * sched.Second

// RunWithFaults simulates the jobs in a cluster with faults, lets the cluster heal, and
// checks what must hold. It returns an error only if there is no report.
func RunWithFaults(ctx context.Context, jobs []Job, cfg Config, f Faults) (*Report, error) {
	if err := cfg.Valid(); err != nil {
		return nil, err
	}
	w := newWorld(jobs, cfg, f)
	w.startDaemons()
	w.callAt(0, w.plan.start)
	w.awaitRest(0, 0, 0)
	for !w.finished && w.check.err == nil && w.step() {
		if w.result.Events&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if w.passed {
		return nil, w.tooLong()
	}
	if w.check.err == nil {
		w.history.replay(w.check)
	}
	return w.report(), nil
}

// awaitRest examines the cluster every second. Once the cluster has been at rest three
// times in a row, the final checks run.
func (w *world) awaitRest(still, ended int, since sched.Time) {
	w.callAt(w.now+sched.Second, func() {
		open := 0
		for _, j := range w.check.jobs {
			if j.ended == 0 {
				open++
			}
		}
		if now := len(w.check.jobs) - open + w.check.accepted; now != ended || !w.draws.healed || w.arrivals < len(w.work) {
			ended, since = now, w.now
		}
		still++
		if open > 0 || !w.draws.healed || w.arrivals < len(w.work) || w.busy() {
			still = 0
		}
		switch {
		case still == 3:
			w.check.atEnd(w.cluster)
			w.finished = true
		case w.now-since > patience:
			w.check.atEnd(w.cluster)
			w.check.mustf(checkRest, false, "%d jobs have ended or results been accepted, and the cluster does not come to rest for %s", ended, seconds(patience))
		default:
			w.awaitRest(still, ended, since)
		}
	})
}

// busy reports whether a task runs, a daemon is down or paused, or a message is in
// flight.
func (w *world) busy() bool {
	if !w.net.idle() {
		return true
	}
	for _, p := range w.processes() {
		if !p.gone && (!p.alive || p.resumes > w.now) {
			return true
		}
	}
	for _, n := range w.nodes {
		for _, x := range n.workers {
			if len(x.kept) > 0 || len(w.runs.byWorker[x.host.addr.ID]) > 0 {
				return true
			}
		}
	}
	return false
}

func (w *world) report() *Report {
	r := &Report{Attempts: w.result.Attempts, Suspensions: int(w.result.Suspensions), Steps: len(w.history.steps), End: w.now, Checks: w.check.checks[:], history: w.history, Faults: w.plan.happened, Counts: w.draws.counts}
	for _, j := range w.check.jobs {
		if !j.accepted {
			continue
		}
		r.Jobs++
		switch j.outcome {
		case sched.Done:
			r.Done++
		case sched.Killed:
			r.Cancelled++
		default:
			r.Failed++
		}
	}
	if err := w.check.err; err != nil && r.Violated() == nil {
		r.Checks = append(r.Checks, Check{Name: "the simulation goes on", Violated: err})
	}
	return r
}

// atEnd checks what must hold at the end.
func (c *checker) atEnd(all *cluster) {
	for _, j := range c.jobs {
		c.mustf(checkJobs, j.ended == 1, "job %s ended %d times", j.id, j.ended)
		if j.ended == 0 {
			continue
		}
		for task, n := range j.results {
			c.mustf(checkResults, n == 1 || (n == 0 && j.outcome == sched.Killed), "job %s, which ended %s: task %d has %d accepted results", j.id, j.outcome, task, n)
		}
	}
	for _, m := range all.masters {
		c.masterAtRest(m)
	}
	for _, n := range all.nodes {
		for _, x := range n.workers {
			held := len(all.runs.byWorker[x.host.addr.ID])
			c.mustf(checkRest, held == 0 && len(x.kept) == 0, "%s: worker %d has %d tasks and keeps %d results", n.daemonID, x.slot, held, len(x.kept))
		}
	}
}

// masterAtRest checks that a master at rest holds nothing.
func (c *checker) masterAtRest(m *daemon) {
	if m.host == nil || m.host.dead() {
		return
	}
	for id := range m.payloads {
		c.mustf(checkRest, false, "%s still holds job %s", m.daemonID, id)
	}
	workers := 0
	for i := range m.members {
		if m.members[i].worker != nil && !m.members[i].gone {
			workers++
		}
	}
	t := m.core.Totals()
	queued, registered, idle := 0, 0, 0
	for i := range t.Queued {
		queued += t.Queued[i]
	}
	for i := range t.Workers {
		registered += t.Workers[i]
		idle += t.Idle[i]
	}
	c.mustf(checkRest, queued == 0 && registered == workers, "%s at rest: %d tasks wait; it has %d workers, %d are registered", m.daemonID, queued, registered, workers)
	c.mustf(checkRest, idle == workers || t.Idle[0] == sched.Unknown, "%s at rest: %d of %d workers are idle", m.daemonID, idle, workers)
}
