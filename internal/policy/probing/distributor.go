package probing

import (
	"math"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Options are how a distributor probes.
type Options struct {
	Ratio    float64 // probes for each task
	Least    int     // probes for each job, at least
	Repeated bool    // a worker may be drawn twice for the same tasks
	Cancel   bool    // withdraw the reservations when the last task is bound
}

// Distributor probes workers for each job and hands its tasks to those that ask
// first. Its state is the ledger, the worker of each bound task, and the live workers.
type Distributor struct {
	cfg      sched.DistributorConfig
	o        Options
	led      *ledger.Ledger
	jobs     map[sched.JobID]*Job
	members  []sched.Member // ascending, without those that take nothing new
	leaving  []sched.Member // these, ascending: tasks bound to them run there
	scratch  scratch
	restored bool // false while the journal is being read
	doubt    bool // tasks of an earlier life may be at workers that have not reported them
	awaiting bool // the timer that ends the wait for their reports runs
}

// NewDistributor returns a new distributor without workers.
func NewDistributor(cfg sched.DistributorConfig, o Options) *Distributor {
	return &Distributor{cfg: cfg, o: o, led: ledger.NewLife(cfg.FirstAttempt, cfg.LossWindow), jobs: make(map[sched.JobID]*Job), restored: true}
}

// Ledger returns the ledger, for the shell to read between steps.
func (d *Distributor) Ledger() *ledger.Ledger { return d.led }

// Job returns an unfinished job, nil when there is none.
func (d *Distributor) Job(id sched.JobID) *Job { return d.jobs[id] }

// Members returns the live workers that take tasks, in ascending order.
func (d *Distributor) Members() []sched.Member { return d.members }

// Step implements [sched.Core].
func (d *Distributor) Step(now sched.Time, from sched.Addr, m *sched.Message, out *sched.Actions) {
	if !m.Valid() {
		return
	}
	d.led.At(now)
	switch m.Kind {
	case sched.Submit:
		d.submit(now, m, out)
	case sched.GetTask:
		d.getTask(from, m, out)
	case sched.Report:
		_, v := d.led.Report(now, m, out)
		d.applyVerdict(m, v, out)
	case sched.Refused:
		d.refused(from, m, out)
	case sched.Cancel:
		d.cancel(m, out)
	case sched.Members:
		d.membersChanged(now, m, out)
		d.awaitReports(now, out)
	case sched.Held:
		d.held(from, m, out)
	case sched.Timeout:
		d.timeout(now, m.Token, out)
		d.resolveDoubts(now, m.Token, out)
	case sched.NewAttempt, sched.NotLost, sched.TaskEnded:
		if !d.restored {
			d.led.Restore(now, m)
		}
	case sched.Restored:
		d.restore(out)
		d.awaitReports(now, out)
	}
}

func (d *Distributor) submit(now sched.Time, m *sched.Message, out *sched.Actions) {
	entry := d.led.Submit(now, m)
	if entry == nil {
		return
	}
	entry.Estimate = d.cfg.Params.EstimateOf(entry.Estimate) // some orders need one
	j := newJob(entry, sched.Rand(d.cfg.Seed, entry.Key))
	d.jobs[entry.ID] = j
	if m.Resent {
		d.restored = false
		entry.Unconfirm()
		return
	}
	d.probe(j, out)
}

// probe sends reservations for the job's unbound tasks: Ratio for each, Least for
// the job. Without workers they are sent when there are some.
func (d *Distributor) probe(j *Job, out *sched.Actions) {
	if !d.restored || j.unbound == 0 {
		return
	}
	n := max(probes(d.o.Ratio, j.unbound), d.o.Least)
	if j.waiting = len(d.members) == 0; j.waiting {
		return
	}
	d.draw(j.rand, n, func(i int) { d.Probe(j, d.members[i].Worker, 1, out) })
}

// probes returns how many reservations the ratio gives for so many tasks, rounded up. A product that
// is a whole number but for the rounding of its factors, such as 1.1 x 100, stays that number.
func probes(ratio float64, unbound int32) int {
	const rounding = 1e-12
	return int(math.Ceil(float64(float64(ratio*float64(unbound)) * (1 - rounding))))
}

// Probe sends one reservation; try counts how often it was sent, from 1.
func (d *Distributor) Probe(j *Job, to sched.Addr, try int32, out *sched.Actions) {
	m := out.Send(to, sched.Probe)
	m.Job, m.Class, m.Estimate, m.App, m.Distributor = j.ID, j.Class, j.Estimate, j.App, d.cfg.Self
	m.Arrival, m.Count, m.Attempt = j.Arrival, j.unbound, try
	if d.o.Cancel {
		j.probed = append(j.probed, to.ID)
	}
}

// getTask binds the next unbound task to the worker that asks. A worker that is
// not known (any more), or that takes nothing new, gets none, and another reservation replaces its own.
func (d *Distributor) getTask(from sched.Addr, m *sched.Message, out *sched.Actions) {
	if from.Role != sched.Worker {
		return
	}
	j := d.jobs[m.Job]
	if !d.restored {
		j = nil // it is probed for again
	}
	if known := isMember(d.members, from.ID); j == nil || j.unbound == 0 || !known {
		answer := out.Send(from, sched.NoTask)
		answer.Job, answer.Seq = m.Job, m.Seq
		if j != nil && !known {
			d.probe(j, out)
		}
		return
	}
	task := j.bind(from.ID)
	l := out.Send(from, sched.Launch)
	l.Job, l.First, l.Attempt, l.Class, l.App = j.ID, task, j.Tasks[task].Attempt, j.Class, j.App
	l.Distributor, l.Estimate, l.Count, l.Seq = d.cfg.Self, j.Estimate, j.unbound, m.Seq
	l.Marks = j.Tasks[task].Marks & sched.Apart
	if d.o.Cancel {
		d.withdraw(j, from.ID, out)
	}
}

// withdraw records that the worker's reservation was used, and withdraws the others
// back when no task is left for them.
func (d *Distributor) withdraw(j *Job, used int32, out *sched.Actions) {
	if i := slices.Index(j.probed, used); i >= 0 {
		j.probed = slices.Delete(j.probed, i, i+1)
	}
	if j.unbound > 0 {
		return
	}
	for _, id := range j.probed {
		out.Send(sched.Addr{Role: sched.Worker, ID: id}, sched.CancelProbe).Job = j.ID
	}
	j.probed = j.probed[:0]
}

// applyVerdict acts on the ledger's verdict about an attempt.
func (d *Distributor) applyVerdict(m *sched.Message, v ledger.Verdict, out *sched.Actions) {
	j := d.jobs[m.Job]
	switch v {
	case ledger.Again:
		j.unbind(m.First)
		d.probe(j, out)
	case ledger.Later:
		j.postpone(m.First)
	case ledger.Accepted:
		// Another attempt may be running: it is not wanted any more.
		if t := &j.Tasks[m.First]; t.Attempt != m.Attempt {
			d.kill(j, m.First, out)
		}
		j.end(m.First)
		if d.led.Job(m.Job) == nil {
			delete(d.jobs, m.Job)
		}
	}
}

// timeout probes for the tasks whose wait is over.
func (d *Distributor) timeout(now sched.Time, token uint64, out *sched.Actions) {
	if token != ledger.NextDue {
		return
	}
	for entry, task := d.led.Due(now, out); entry != nil; entry, task = d.led.Due(now, out) {
		j := d.jobs[entry.ID]
		j.release(task)
		d.probe(j, out)
	}
}

// kill stops a task where it runs.
func (d *Distributor) kill(j *Job, task int32, out *sched.Actions) {
	if j.bound[task] >= 0 {
		k := out.Send(sched.Addr{Role: sched.Worker, ID: j.bound[task]}, sched.Kill)
		k.Job, k.First, k.Attempt = j.ID, task, j.Tasks[task].Attempt
	}
}

// refused takes back a task from a worker that no longer wanted it.
func (d *Distributor) refused(from sched.Addr, m *sched.Message, out *sched.Actions) {
	j := d.jobs[m.Job]
	if j == nil || !j.Has(m.First) || from.Role != sched.Worker {
		return
	}
	if t := &j.Tasks[m.First]; t.Outcome == sched.Unfinished && t.Attempt == m.Attempt && j.bound[m.First] == from.ID {
		j.unbind(m.First)
		d.probe(j, out)
	}
}

func (d *Distributor) cancel(m *sched.Message, out *sched.Actions) {
	j := d.jobs[m.Job]
	if j == nil {
		return
	}
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.Reason = sched.Cancel, j.ID, m.Reason
	for i := range j.Tasks {
		if j.Tasks[i].Outcome == sched.Unfinished {
			d.kill(j, int32(i), out)
		}
	}
	d.led.Cancel(j.Job, m.Reason, out)
	delete(d.jobs, j.ID)
}
