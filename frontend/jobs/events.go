package jobs

import (
	"cmp"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The events of jobs, for pigeon events. None is about a task that completed, and none quotes what
// a job runs or what it wrote: their texts are made here from numbers, names and codes.

// setbacksTold is how many failed and lost attempts of a job have events of their own. Beyond it
// each doubling has one, so that one job cannot displace all others' events.
const setbacksTold = 20

// ReasonNodesLost is the code of a task that failed because the nodes that ran it were lost.
const ReasonNodesLost = "nodes_lost"

// reasonOverruled is the code of a job whose declared class does not count.
const reasonOverruled = "class_overruled"

func eventOf(j *Job, eventType, severity string) api.Event {
	return api.Event{Type: eventType, Severity: severity, Job: j.Status.Job, Owner: j.Status.Owner, Submitter: j.Status.Submitter}
}

// publishAccepted publishes that a job was accepted, and whether it is held.
func (t *records) publishAccepted(j *Job) {
	if t.opts.Publish == nil {
		return
	}
	e := eventOf(j, api.EventJobSubmitted, api.SeverityInfo)
	e.Message = fmt.Sprintf("job %s was accepted: %s, %s%s", e.Job, sched.Count(j.Status.Tasks, "task", "tasks"), j.Status.Class, named(&j.Status))
	if sub := j.Submission; sub != nil && sub.Origin == classes.Overruled {
		e.Reason = reasonOverruled
		e.Message += "; the class that was declared does not count, because earlier jobs of this work ran otherwise"
	}
	t.opts.Publish(e)
	if j.held {
		e := eventOf(j, api.EventJobHeld, api.SeverityInfo)
		e.Message = fmt.Sprintf("job %s is %s", e.Job, j.Status.Reason)
		t.opts.Publish(e)
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

// At is called when a node is known to have a task of the job, or to have run one.
func (t *records) At(j *Job, node string) {
	if j.Durable && t.begins(j) {
		t.opts.Publish(startedEvent(j, node))
	}
}

// begins reports whether the start of the job is to be published now.
func (t *records) begins(j *Job) bool {
	if j.begun || t.opts.Publish == nil || j.Grant != nil {
		return false
	}
	j.begun = true
	return true
}

func startedEvent(j *Job, node string) api.Event {
	e := eventOf(j, api.EventJobStarted, api.SeverityInfo)
	e.Node, e.Message = node, fmt.Sprintf("job %s has started: its first task is at node %s", e.Job, node)
	return e
}

// addStarted adds the start of a job by the report of one of its tasks.
func (t *records) addStarted(effects *Effects, j *Job, report *wire.Item) {
	if report != nil && t.begins(j) {
		effects.events = append(effects.events, startedEvent(j, report.From.Name))
	}
}

func (t *records) addReclassed(effects *Effects, j *Job, m *sched.Message) {
	if t.opts.Publish == nil {
		return
	}
	e := eventOf(j, api.EventJobReclassed, api.SeverityInfo)
	e.Message = fmt.Sprintf("job %s counts as %s from now on, by how long its tasks run", e.Job, m.Class)
	effects.events = append(effects.events, e)
}

// addRetried adds what happened to the attempts before those of a NewAttempt message. It is called
// before the job has the new ones.
func (t *records) addRetried(effects *Effects, j *Job, m *sched.Message, report *wire.Item) {
	t.addStarted(effects, j, report)
	if t.opts.Publish == nil {
		return
	}
	if m.Count > 0 {
		e := eventOf(j, api.EventTasksRetried, api.SeverityWarning)
		e.Count = int64(m.Count)
		e.Message = fmt.Sprintf("job %s: %s from task %d on are distributed again", e.Job, sched.Count(int(m.Count), "task", "tasks"), m.First)
		effects.events = append(effects.events, e)
		return
	}
	eventType, what, severity := api.EventAttemptLost, "was lost", api.SeverityWarning
	switch m.Outcome {
	case sched.Failed:
		eventType, what = api.EventAttemptFailed, "failed"
	case sched.Yielded:
		eventType, what, severity = api.EventTasksRetried, "was given back", api.SeverityInfo
	default:
	}
	t.addSetback(effects, j, attemptEvent(j, m, report, j.Attempt(m.First), eventType, severity, what, fmt.Sprintf("attempt %d follows", m.Attempt)))
}

// attemptEvent returns an event about an attempt; report is that of its failure, nil when there is
// none.
func attemptEvent(j *Job, m *sched.Message, report *wire.Item, attempt int32, eventType, severity, what, then string) api.Event {
	e := eventOf(j, eventType, severity)
	e.Task, e.Attempt, e.Node = new(int(m.First)), int(attempt), m.Node
	how := ""
	if report != nil {
		e.Node = report.From.Name
	}
	if report != nil && m.Outcome == sched.Failed {
		e.Reason = codeOf(report.Code).String()
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
	e.Message = fmt.Sprintf("job %s: attempt %d of task %d %s%s%s; %s", e.Job, attempt, m.First, what, at, how, then)
	return e
}

// addSetback adds an event about an attempt, or about how many there were so far.
func (*records) addSetback(effects *Effects, j *Job, e api.Event) {
	j.setbacks++
	switch n := j.setbacks; {
	case n <= setbacksTold:
	case n%setbacksTold == 0 && (n/setbacksTold)&(n/setbacksTold-1) == 0:
		e.Count = int64(n)
		e.Message = fmt.Sprintf("job %s: %d attempts have failed, were lost or given back so far; 'pigeon explain %s' has the latest", e.Job, n, e.Job)
		e.Task, e.Attempt, e.Node, e.Reason = nil, 0, "", ""
	default:
		return
	}
	effects.events = append(effects.events, e)
}

// addTaskEnd adds the end of a task that failed; it adds none for one that completed.
func (t *records) addTaskEnd(effects *Effects, j *Job, m *sched.Message, report *wire.Item) {
	t.addStarted(effects, j, report)
	if t.opts.Publish == nil || m.Outcome != sched.Failed {
		return
	}
	e := attemptEvent(j, m, report, m.Attempt, api.EventTaskFailed, api.SeverityError, "failed", "the task is not tried again")
	if report == nil {
		e.Reason = cmp.Or(e.Reason, ReasonNodesLost)
		e.Message = fmt.Sprintf("job %s, attempt %d: %s", e.Job, m.Attempt, m.Reason) // the ledger's own words, which name the nodes
	}
	t.addSetback(effects, j, e)
}

// addJobEnd adds the end of a job. The reason of a failure is not quoted: it may contain outputs.
func (t *records) addJobEnd(effects *Effects, j *Job) {
	if t.opts.Publish == nil {
		return
	}
	s := j.final
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
	effects.events = append(effects.events, e)
}
