package sim

import (
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Check is one condition that must hold, and how often it was evaluated.
type Check struct {
	Name      string
	Evaluated int
	Violated  error // nil if it held
}

// The checks, in the order of the report.
const (
	checkJobs = iota
	checkResults
	checkOnce
	checkTwice
	checkRoom
	checkGone
	checkReserved
	checkWeight
	checkMarks
	checkCores
	checkRest
	checkSame
	checkLeader
	numChecks
)

var checkNames = [numChecks]string{
	checkJobs:     "every accepted job ends, once",
	checkResults:  "every task has one accepted result, of an attempt that ran to its end",
	checkOnce:     "an attempt number of a task starts once at most, whatever restarts",
	checkTwice:    "a task that has run for 5 s is started again only if its node was lost, dead or unreachable meanwhile",
	checkRoom:     "a worker starts only tasks that it has room for, and suspends and resumes only tasks that it holds",
	checkGone:     "a master launches nothing at a lost worker, and no task of a job that it has forgotten",
	checkReserved: "reserved workers run no long task",
	checkWeight:   "of any W tasks that general workers take from the queues, one is long while long ones wait",
	checkMarks:    "only tasks that allow it are suspended or restarted",
	checkCores:    "every core keeps its own invariants, after each step",
	checkRest:     "at rest nothing runs, every worker is idle, no master holds a job, every result is acknowledged",
	checkSame:     "the same inputs give the same actions",
	checkLeader:   "no worker starts a task for a master after the one that follows it has answered the node",
}

// job is what the frontends' journals contain about a job.
type job struct {
	id       sched.JobID
	owner    int
	submit   sched.Message
	marks    sched.Marks
	accepted bool
	results  []int // number of accepted results, per task
	ended    int
	outcome  sched.Outcome
}

// checker holds the state of the checks.
type checker struct {
	jobs     []*job
	byID     map[sched.JobID]*job
	ran      map[sched.AttemptID]bool
	began    map[sched.AttemptID]daemonID
	twice    twice
	checks   [numChecks]Check
	err      error // the first violation
	accepted int   // results, of all jobs
	faults   *Faults
}

func newChecker(f *Faults) *checker {
	c := &checker{faults: f, byID: map[sched.JobID]*job{}, ran: map[sched.AttemptID]bool{}, began: map[sched.AttemptID]daemonID{}}
	for i := range c.checks {
		c.checks[i].Name = checkNames[i]
	}
	c.twice = twice{starts: map[sched.AttemptID]begun{}, last: map[taskID]sched.AttemptID{}, numbered: map[sched.AttemptID]sched.Time{}}
	return c
}

func (c *checker) newJob(m *sched.Message, owner int) *job {
	if j := c.byID[m.Job]; j != nil { // submitted again, because it was not accepted
		return j
	}
	j := &job{id: m.Job, owner: owner, submit: *m, marks: m.Marks, results: make([]int, m.Count)}
	c.byID[m.Job] = j
	c.jobs = append(c.jobs, j)
	return j
}

// mustf counts an evaluation of a check, and records a violation if the condition does
// not hold.
func (c *checker) mustf(check int, holds bool, format string, args ...any) {
	c.checks[check].Evaluated++
	if !holds && c.err == nil {
		c.err = fmt.Errorf(format, args...)
		c.checks[check].Violated = c.err
	}
}

// described is a message that is described only if a check fails: that is slow.
type described struct{ m *sched.Message }

// String implements fmt.Stringer.
func (d described) String() string { return sched.Describe(d.m) }

// countRecord applies a journal record to the checker's account of its job.
func (c *checker) countRecord(f *daemon, m *sched.Message) {
	j := c.byID[m.Job]
	if j == nil {
		c.mustf(checkResults, false, "%s journals a job that was never submitted: %s", f.daemonID, sched.Describe(m))
		return
	}
	switch m.Kind {
	case sched.TaskEnded:
		j.results[m.First]++
		c.accepted++
		c.mustf(checkResults, m.Outcome != sched.Done || c.ran[m.AttemptID()], "%s accepts %s as done, which never ran to its end", f.daemonID, m.AttemptID())
	case sched.JobEnded:
		j.ended++
		j.outcome = m.Outcome
	}
}

// recount recomputes the results of a frontend's jobs after its journal was truncated.
// Only a job that was not accepted may be missing.
func (c *checker) recount(f *daemon) {
	for _, j := range c.jobs {
		if j.owner == f.id {
			clear(j.results)
			j.ended = 0
		}
	}
	for i := range f.journal.records {
		if f.journal.records[i].Kind == sched.Submit {
			c.byID[f.journal.records[i].Job].accepted = true
		}
		c.countRecord(f, &f.journal.records[i])
	}
}

// afterStep checks the invariants of a core after a step.
func (c *checker) afterStep(h *host, m *sched.Message, out []sched.Action) {
	err := h.core.Valid()
	c.mustf(checkCores, err == nil, "%s, after %s: %w", h.p.daemonID, described{m}, err)
	if h.p.role != sched.Master {
		return
	}
	core := h.daemon.core
	if c.faults.Observe != nil {
		if err := c.faults.Observe(core, m, out); err != nil {
			c.mustf(checkCores, false, "%s, at %s: %w", h.p.daemonID, sched.Describe(m), err)
		}
	}
	if c.faults.Weight > 0 {
		c.countShort(h.daemon, core, m, out)
	}
}

// countShort counts the consecutive short tasks that general workers took from a
// master's queues while long tasks waited. A task that arrives or returns may be
// launched at an idle worker without passing through a queue, so launches of such steps
// do not count.
func (c *checker) countShort(d *daemon, core sched.MasterCore, in *sched.Message, out []sched.Action) {
	arrived := in.Kind == sched.Tasks || in.Kind == sched.Refused || in.Kind == sched.Timeout
	reserved := map[int32]bool{}
	for i := range out {
		a := &out[i]
		switch {
		case a.Msg.Kind == sched.SetReserved:
			reserved[a.To.ID] = a.Msg.Reserved
		case arrived || a.Msg.Kind != sched.Launch || d.isReserved(a.To.ID, reserved):
		case a.Msg.Class == sched.Long || core.Totals().Queued[sched.Long] == 0:
			d.shortInRow = 0
		default:
			d.shortInRow++
		}
	}
	c.mustf(checkWeight, d.shortInRow < c.faults.Weight, "%s: general workers took %d short tasks in a row, and W is %d", d.daemonID, d.shortInRow, c.faults.Weight)
}

func (r *registrations) isReserved(worker int32, now map[int32]bool) bool {
	if reserved, set := now[worker]; set {
		return reserved
	}
	return int(worker) < len(r.members) && r.members[worker].reserved
}

// launch checks what a master sends to a worker.
func (c *checker) launch(d *daemon, a *sched.Action) {
	if int(a.To.ID) >= len(d.members) || d.members[a.To.ID].worker == nil {
		c.mustf(checkGone, false, "%s sends to a worker that never registered: %s", d.daemonID, sched.DescribeAction(a))
		return
	}
	x := &d.members[a.To.ID]
	switch a.Msg.Kind {
	case sched.SetReserved:
		x.reserved = a.Msg.Reserved
	case sched.Launch, sched.Preempt:
		c.mustf(checkGone, !x.gone, "%s launches at a lost worker: %s", d.daemonID, sched.DescribeAction(a))
		c.mustf(checkReserved, !x.reserved || a.Msg.Class != sched.Long, "%s launches a long task at a reserved worker: %s", d.daemonID, sched.DescribeAction(a))
		c.mustf(checkGone, d.payloads[a.Msg.Job], "%s launches a task of a job that it has forgotten: %s", d.daemonID, sched.DescribeAction(a))
	}
}

// yield checks that only restartable tasks are stopped in order to be started
// again.
func (c *checker) yield(x *worker, m *sched.Message) {
	if m.Kind == sched.Yield {
		j := c.byID[m.Job]
		c.mustf(checkMarks, j != nil && j.marks.Has(sched.Restartable), "%s is told to restart a task that does not allow it: %s", x.node.daemonID, described{m})
	}
}

// start checks that a worker has room for the task that it starts, running counting those
// that it runs. It reports whether there is room.
func (c *checker) start(x *worker, m *sched.Message, running, slots int, now sched.Time) bool {
	node := x.node.daemonID
	first, again := c.began[m.AttemptID()]
	c.mustf(checkOnce, !again, "%s starts %s, which %s has started before", node, m.AttemptID(), first)
	c.began[m.AttemptID()] = node
	c.startAgain(m.AttemptID(), x.node, now)
	c.mustf(checkRoom, running < slots, "%s starts %s at a worker that runs %d tasks", node, m.AttemptID(), running)
	if in := x.input; in != nil && in.AttemptID() == m.AttemptID() {
		if x.by.from.role == sched.Master {
			c.mustf(checkLeader, x.by.fromLife >= x.node.heard, "%s starts %s for %s after the one that follows it", node, m.AttemptID(), x.by.from)
		}
		c.mustf(checkReserved, !x.core.Slot().Reserved || in.Class != sched.Long, "%s starts a long task at a reserved worker: %s", node, sched.Describe(in))
	}
	return running < slots
}

// seconds formats a time for people.
func seconds(t sched.Time) string { return fmt.Sprintf("%.3f s", float64(t)/1e9) }
