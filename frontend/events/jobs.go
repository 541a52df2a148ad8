package events

import (
	"cmp"
	"fmt"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// setbacksTold is how many failed and lost attempts of a job have events of their own. Beyond it
// each doubling has one, so that one job cannot displace all others' events.
const setbacksTold = 20

// ReasonNodesLost is the code of a task that failed because the nodes that ran it were lost.
const ReasonNodesLost = "nodes_lost"

// reasonOverruled is the code of a job whose declared class does not count.
const reasonOverruled = "class_overruled"

// Jobs publishes the events of jobs. None is about a task that completed, and none quotes what
// a job runs or what it wrote: their texts are made here from numbers, names and codes. Make one
// with NewJobs.
type Jobs struct {
	ring    *Ring
	told    map[*jobs.Job]told
	waiting jobs.Queue[api.Event]
}

// told is what events have told of an unfinished job.
type told struct {
	begun    bool // its first task is at a node
	setbacks int  // attempts and tasks that failed, were lost or given back
}

var _ jobs.Observer = (*Jobs)(nil)

// NewJobs returns an observer of jobs, whose events a ring keeps.
func NewJobs(r *Ring) *Jobs { return &Jobs{ring: r, told: map[*jobs.Job]told{}} }

// Observe publishes what happens to jobs, once it is on the disk.
func (p *Jobs) Observe(c jobs.Change) {
	switch j := c.Job; c.Kind {
	case jobs.Accepted:
		p.accepted(j)
	case jobs.Freed:
		e := eventOf(j, api.EventJobReleased, api.SeverityInfo)
		e.Message = fmt.Sprintf("job %s is released: the jobs after which it starts have ended", e.Job)
		p.ring.Publish(e)
	case jobs.AtNode, jobs.Launching:
		if j.Acceptance == nil && p.begins(j) {
			p.ring.Publish(startedEvent(j, c.At.Name))
		}
	case jobs.Recorded:
		p.recorded(&c)
	case jobs.Written:
		p.waiting.Written(c.Batch, func(e *api.Event) { p.ring.Publish(*e) })
	case jobs.Ended:
		delete(p.told, j)
	default:
	}
}

// recorded adds what a record says.
func (p *Jobs) recorded(c *jobs.Change) {
	if c.Report != nil && (c.Tries() || c.Ends()) && p.begins(c.Job) {
		p.waiting.Add(c.Batch, startedEvent(c.Job, c.Report.From.Name))
	}
	switch {
	case c.Tries():
		p.retried(c)
	case c.Ends() && c.Record.Outcome == sched.Failed:
		p.taskFailed(c)
	case c.Record.Kind == journal.Reclassed:
		e := eventOf(c.Job, api.EventJobReclassed, api.SeverityInfo)
		e.Message = fmt.Sprintf("job %s counts as %s from now on, by how long its tasks run", e.Job, c.Record.Class)
		p.waiting.Add(c.Batch, e)
	case c.Record.Kind == journal.JobEnded:
		p.waiting.Add(c.Batch, endedEvent(c.Job, &c.Record.Ended.Status))
	}
}

func eventOf(j *jobs.Job, eventType, severity string) api.Event {
	return api.Event{Type: eventType, Severity: severity, Job: j.Status.Job, Owner: j.Status.Owner, Submitter: j.Status.Submitter}
}

// accepted publishes that a job was accepted, and whether it is held.
func (p *Jobs) accepted(j *jobs.Job) {
	e := eventOf(j, api.EventJobSubmitted, api.SeverityInfo)
	e.Message = fmt.Sprintf("job %s was accepted: %s, %s%s", e.Job, sched.Count(j.Status.Tasks, "task", "tasks"), j.Status.Class, named(&j.Status))
	if sub := j.Submission; sub != nil && sub.Origin == classes.Overruled {
		e.Reason = reasonOverruled
		e.Message += "; the class that was declared does not count, because earlier jobs of this work ran otherwise"
	}
	p.ring.Publish(e)
	if j.Held() {
		e := eventOf(j, api.EventJobHeld, api.SeverityInfo)
		e.Message = fmt.Sprintf("job %s is %s", e.Job, j.Status.Reason)
		p.ring.Publish(e)
	}
}

// named returns the name and the owner of a job, as far as it has them.
func named(s *api.Status) (text string) {
	if s.Name != "" {
		text = fmt.Sprintf(", named %q", s.Name)
	}
	if s.Owner != "" {
		text += ", for " + s.Owner
	}
	return text
}

// begins reports whether the start of the job is to be published now.
func (p *Jobs) begins(j *jobs.Job) bool {
	t := p.told[j]
	if t.begun || j.Grant != nil {
		return false
	}
	t.begun = true
	p.told[j] = t
	return true
}

func startedEvent(j *jobs.Job, node string) api.Event {
	e := eventOf(j, api.EventJobStarted, api.SeverityInfo)
	e.Node, e.Message = node, fmt.Sprintf("job %s has started: its first task is at node %s", e.Job, node)
	return e
}

// retried adds what happened to the attempts before those of a record.
func (p *Jobs) retried(c *jobs.Change) {
	j, r := c.Job, c.Record
	if r.Kind == journal.NewAttempts {
		e := eventOf(j, api.EventTasksRetried, api.SeverityWarning)
		e.Count = int64(r.Count)
		e.Message = fmt.Sprintf("job %s: %s from task %d on are distributed again", e.Job, sched.Count(int(r.Count), "task", "tasks"), r.First)
		p.waiting.Add(c.Batch, e)
		return
	}
	eventType, what, severity := api.EventAttemptLost, "was lost", api.SeverityWarning
	switch r.Outcome {
	case sched.Failed:
		eventType, what = api.EventAttemptFailed, "failed"
	case sched.Yielded:
		eventType, what, severity = api.EventTasksRetried, "was given back", api.SeverityInfo
	default:
	}
	p.setback(c, attemptEvent(j, r, c.Report, j.Attempt(r.First), eventType, severity, what, fmt.Sprintf("attempt %d follows", r.Attempt)))
}

// attemptEvent returns an event about an attempt; report is that of its failure, nil when there is
// none.
func attemptEvent(j *jobs.Job, r *journal.Record, report *wire.Item, attempt int32, eventType, severity, what, then string) api.Event {
	e := eventOf(j, eventType, severity)
	e.Task, e.Attempt, e.Node = new(int(r.First)), int(attempt), r.Node
	how := ""
	if report != nil {
		e.Node = report.From.Name
	}
	if report != nil && r.Outcome == sched.Failed {
		e.Reason = r.Code
		how = fmt.Sprintf(" after %.3f s", report.Elapsed.Seconds())
		if report.Exit != 0 { // a program that could not be started has none
			how += fmt.Sprintf(" with exit status %d", report.Exit)
		}
	}
	if e.Reason != "" {
		how += ", " + e.Reason
	}
	at := ""
	if e.Node != "" {
		at = " at node " + e.Node
	}
	e.Message = fmt.Sprintf("job %s: attempt %d of task %d %s%s%s; %s", e.Job, attempt, r.First, what, at, how, then)
	return e
}

// setback adds an event about an attempt, or about how many there were so far.
func (p *Jobs) setback(c *jobs.Change, e api.Event) {
	t := p.told[c.Job]
	t.setbacks++
	p.told[c.Job] = t
	switch n := t.setbacks; {
	case n <= setbacksTold:
	case n%setbacksTold == 0 && (n/setbacksTold)&(n/setbacksTold-1) == 0:
		e.Count = int64(n)
		e.Message = fmt.Sprintf("job %s: %d attempts have failed, were lost or given back so far; 'pigeon explain %s' has the latest", e.Job, n, e.Job)
		e.Task, e.Attempt, e.Node, e.Reason = nil, 0, "", ""
	default:
		return
	}
	p.waiting.Add(c.Batch, e)
}

// taskFailed adds the end of a task that failed.
func (p *Jobs) taskFailed(c *jobs.Change) {
	r := c.Record
	e := attemptEvent(c.Job, r, c.Report, r.Attempt, api.EventTaskFailed, api.SeverityError, "failed", "the task is not tried again")
	if c.Report == nil {
		e.Reason = cmp.Or(e.Reason, ReasonNodesLost)
		e.Message = fmt.Sprintf("job %s, attempt %d: %s", e.Job, r.Attempt, r.Reason) // the ledger's own words, which name the nodes
	}
	p.setback(c, e)
}

// endedEvent returns the end of a job. The reason of a failure is not quoted: it may contain outputs.
func endedEvent(j *jobs.Job, s *api.Status) api.Event {
	e := eventOf(j, api.EventJobCompleted, api.SeverityInfo)
	switch s.State {
	case api.StateFailed:
		e.Type, e.Severity = api.EventJobFailed, api.SeverityError
		e.Message = fmt.Sprintf("job %s failed after %.3f s: %d of its %s failed; 'pigeon explain %s' says why", e.Job, s.Seconds, s.Failed, sched.Count(s.Tasks, "task", "tasks"), e.Job)
	case api.StateCancelled:
		e.Type = api.EventJobCancelled
		e.Message = fmt.Sprintf("job %s was cancelled after %.3f s with %d of its %s done: %s", e.Job, s.Seconds, s.Completed+s.Failed, sched.Count(s.Tasks, "task", "tasks"), s.Reason)
	default:
		e.Message = fmt.Sprintf("job %s completed after %.3f s: %s, %s", e.Job, s.Seconds, sched.Count(s.Tasks, "task", "tasks"), sched.Count(s.Attempts, "attempt", "attempts"))
	}
	return e
}
