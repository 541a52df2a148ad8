package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Job is the state of a job, beside the core's ledger. Its fields belong to the owner goroutine.
type Job struct {
	ID         sched.JobID
	Submission *journal.Submission // nil once the job has ended
	Status     api.Status          // without what runs at masters
	Grant      *Grant              // of an application's level; nil for a job that was submitted
	Acceptance *Acceptance         // on its way to the disk; nil when it is there
	Ended      bool                // its end is on the disk
	Arrived    sched.Time          // at the frontend, for completion times
	Due        sched.Time          // when its tasks began to wait: on its arrival, or when it was released
	Final      *api.Status         // its final status, from when its end is decided

	restored    bool // from the journal, and not ended yet
	former      bool // it had ended when this process began
	held        bool // it starts after others, and the core does not know it
	named       bool // some of its tasks have names other than their numbers
	class       sched.Class
	tasks       []task // nil once the job has ended
	fingerprint string // of its request; "" for none
	endedAt     time.Time
	waiting     []chan api.Status // receive the status when it has ended

	older, newer *Job // among the jobs that were submitted
}

// Grant identifies the level of an application that a job of grants belongs to. Such a
// job is not journaled, because the application resends its levels after a failure.
type Grant struct{ App, Level, Key string }

// task is the state of a task: whether it has an accepted result, and the attempt that gave it.
type task struct {
	attempt int32 // that was accepted, or that counts now; 0: the job's first
	ended   bool
}

func newJob(sub *journal.Submission) *Job {
	return &Job{
		ID: sub.Job, Submission: sub, class: sub.Class, fingerprint: sub.Fingerprint, named: haveNames(sub.Request.Tasks), tasks: make([]task, len(sub.Request.Tasks)),
		Status: api.Status{
			Job: sub.Request.Key, App: shownApp(sub.Request.App), State: api.StateQueued, Class: sub.Class.String(),
			Tasks: len(sub.Request.Tasks), Attempts: len(sub.Request.Tasks), Submitted: unixSeconds(time.Unix(0, sub.Submitted)),
			Owner: sub.Request.Owner, Priority: sub.Request.Priority, Name: sub.Request.Name, Submitter: sub.Request.Submitter, Command: sub.Request.Command(),
		},
	}
}

// shownApp returns the name of an application as a status has it. Published clients may give any bytes,
// and clients in other languages cannot read a list in which one text is not UTF-8.
func shownApp(app string) string { return strings.ToValidUTF8(app, "\ufffd") }

// unixSeconds returns an instant as a status has it.
func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// Former reports whether the job had ended before this process began.
func (j *Job) Former() bool { return j.former }

// WaitEnd has the status sent to a channel of size 1 when the job has ended.
func (j *Job) WaitEnd(done chan api.Status) { j.waiting = append(j.waiting, done) }

// StopWaiting undoes WaitEnd.
func (j *Job) StopWaiting(done chan api.Status) {
	j.waiting = slices.DeleteFunc(j.waiting, func(w chan api.Status) bool { return w == done })
}

// Acceptance is the acceptance of a job on its way to the disk. A nil one is there.
type Acceptance struct {
	ended chan struct{}
	err   error // written before ended is closed
}

// End ends the way: it is on the disk, or the error says why it may not be.
func (a *Acceptance) End(err error) {
	a.err = err
	close(a.ended)
}

// Wait waits for the end, and reports whether that came before ctx was done. It may be called from anywhere.
func (a *Acceptance) Wait(ctx context.Context) bool {
	if a == nil {
		return true
	}
	select {
	case <-a.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// Err returns why the acceptance may not be on the disk, after Wait.
func (a *Acceptance) Err() error {
	if a == nil {
		return nil
	}
	return a.err
}

// Difference returns in what a request under the job's key asks for other work than the
// job, "" when it is the same or nothing is known of it.
func (j *Job) Difference(sub *journal.Submission) string {
	switch {
	case j.Submission != nil:
		return sub.Request.Difference(&j.Submission.Request)
	default:
		return EndedDifference(j.fingerprint, &j.Status, sub)
	}
}

// EndedDifference is Difference for a job that has ended: only a fingerprint and the
// last status are known.
func EndedDifference(fingerprint string, known *api.Status, sub *journal.Submission) string {
	r := &sub.Request
	switch {
	case fingerprint == "" || fingerprint == sub.Fingerprint:
		return ""
	case len(r.Tasks) != known.Tasks:
		return api.OtherTasks(len(r.Tasks), known.Tasks)
	case r.App != known.App:
		return fmt.Sprintf("its application is %q instead of %q", r.App, known.App)
	default:
		return "its tasks or settings differ"
	}
}

// Submit returns the message that submits the job to the core.
func (j *Job) Submit() sched.Message {
	r := &j.Submission.Request
	return sched.Message{
		Kind: sched.Submit, Job: j.ID, Key: sched.DrawKey(r.Key), App: Needs(r), Class: j.Submission.Class,
		Estimate: estimate(j.Submission), Count: int32(len(r.Tasks)), Retries: uint8(r.Retries), //nolint:gosec // validated
		MaxDisconnect: sched.Time(r.MaxDisconnect), Marks: marks(r) | undeclared(j.Submission), Attempt: j.Submission.Attempt,
		Owner: r.Owner, Priority: r.Priority, MaxRunning: int32(min(r.MaxRunning, api.MaxTasks)), //nolint:gosec // bounded
	}
}

// marks returns what can be done with running tasks: those that Pigeon runs itself can be suspended
// unless their job forbids it, sleeping ones can be restarted, and processes if their job allows
// it.
func marks(r *api.Request) (m sched.Marks) {
	if r.Backend == api.BackendApp {
		return 0
	}
	if !r.NoSuspend {
		m = sched.Stoppable
	}
	if r.Backend == api.BackendSleep || r.Restartable {
		m |= sched.Restartable
	}
	return m
}

// Needs returns the application whose backend the job's tasks need, "" for the
// built-in backends, which every node has.
func Needs(r *api.Request) string {
	if r.Backend == api.BackendApp {
		return r.App
	}
	return ""
}

// payloads returns the payloads and names of a range of tasks, for the wire: one payload when all
// are equal, and no names when they are the tasks' numbers.
func (j *Job) payloads(first, count int32) (payloads []api.Payload, names []string) {
	tasks := j.Submission.Request.Tasks[first : first+count]
	n := len(tasks)
	if n > 1 && !slices.ContainsFunc(tasks[1:], func(t api.Task) bool { return !t.Payload.Equal(&tasks[0].Payload) }) {
		n = 1
	}
	payloads = make([]api.Payload, n)
	r := &j.Submission.Request
	var limits *api.Limits
	if r.Limits != (api.Limits{}) {
		limits = &r.Limits
	}
	var array *api.Array
	if r.Array != (api.Array{}) {
		array = &r.Array
	}
	for i := range payloads {
		payloads[i] = tasks[i].Payload
		payloads[i].Limits, payloads[i].Submitter, payloads[i].Array, payloads[i].Stage = limits, r.Submitter, array, r.Stage
	}
	if j.named {
		names = make([]string, len(tasks))
		for i := range tasks {
			names[i] = tasks[i].ID
		}
	}
	return payloads, names
}

// haveNames reports whether a task has a name other than its number.
func haveNames(tasks []api.Task) bool {
	var number [20]byte
	for i := range tasks {
		if tasks[i].ID != string(strconv.AppendInt(number[:0], int64(i), 10)) {
			return true
		}
	}
	return false
}

// Attempt returns the attempt of a task that counts, while the job has not ended.
func (j *Job) Attempt(task int32) int32 {
	return cmp.Or(j.tasks[task].attempt, j.firstAttempt())
}

// firstAttempt returns the number of the first attempts of the job's tasks.
func (j *Job) firstAttempt() int32 { return max(j.Submission.Attempt, 1) }

// estimate returns the estimate of a task's duration that the core receives, 0 for none. The
// declared estimate of an overruled job does not count.
func estimate(sub *journal.Submission) sched.Time {
	if sub.Origin == classes.Overruled {
		return sched.Time(sub.Estimate)
	}
	return sched.Time(cmp.Or(sub.Estimate, sub.Request.Mean()))
}

// undeclared returns the mark of a job whose class is unknown.
func undeclared(sub *journal.Submission) sched.Marks {
	v := classes.Verdict{Class: sub.Class, Origin: sub.Origin}
	return v.Marks()
}
