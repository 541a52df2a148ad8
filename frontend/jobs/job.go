package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Job is what a frontend keeps of a job beside the core's ledger. Its fields belong to
// the owner goroutine.
type Job struct {
	ID         sched.JobID
	Submission *journal.Submission // nil once the job has ended
	Status     api.Status          // without what runs at masters
	Grant      *Grant              // of an application's level; nil for a job that was submitted
	Durable    bool                // its acceptance is on the disk
	Ended      bool                // its end is on the disk
	restored   bool                // from the journal
	former     bool                // it had ended when this process began
	held       bool                // it starts after others, and the core does not know it
	begun      bool                // an event has said that its first task is at a node
	named      bool                // some of its tasks have names other than their numbers

	arrived     sched.Time  // at the frontend, for completion times
	due         sched.Time  // when its tasks began to wait: on its arrival, or when it was released
	final       *api.Status // its final status, from when its end is decided
	endedAt     time.Time
	waiting     []chan api.Status // receive the status when it has ended
	accepting   []func(error)     // called when its acceptance is on the disk
	reports     []taskReport      // by task, of accepted results
	bytes       int64             // counted in held
	holder      string            // likewise; "" when it is not counted
	quota       *quotas.Holding   // what is counted of it for its owner
	fingerprint string            // the fingerprint of its request; "" for none
	trace       jobTrace
	turn        turn
	run         classes.Run // what is learned from it
	earlier     []earlier   // attempts that were followed by others
	usage       journal.Usage
	setbacks    int           // attempts and tasks that failed, were lost or given back, as far as events count them
	keptStopped int           // records of the journal about its tasks that were stopped
	inVain      map[vain]bool // attempts whose time is in usage.Lost; nil for none

	older, newer *Job // among the jobs that were submitted
}

// Grant identifies the level of an application that a job of grants belongs to. Such a
// job is not journaled, because the application resends its levels after a failure.
type Grant struct{ App, Level, Key string }

// taskReport is what is kept of a task: its last attempt and its accepted result.
type taskReport struct {
	node    uint32 // index of the node that reported the result, or the end of a cancelled job's task, +1; 0 for none yet
	attempt int32  // that was accepted, or that counts now; 0: the job's first
	exit    int16  // status of a process; 0 also after a restart of the frontend
	outcome sched.Outcome
	code    code      // of a failure; 0 also after a restart of the frontend
	began   startTime // of the attempt that counts; while it runs, known where this frontend launched it
	elapsed time.Duration
}

// ended reports whether there is a result.
func (r *taskReport) ended() bool { return r.outcome != sched.Unfinished }

func (r *taskReport) failed() bool { return r.outcome == sched.Failed }

// jobTrace is the span of the whole job; end is nil when it is not sampled.
type jobTrace struct {
	own     api.Trace           // with which a later process resumes the job's span
	carrier api.Trace           // of the tasks
	began   time.Time           // in this process
	retries map[int32]time.Time // by task: when it got its last attempt, for tasks that have had several
	end     func(*api.Status)
}

func newJob(sub *journal.Submission) *Job {
	return &Job{
		ID: sub.Job, Submission: sub, fingerprint: sub.Fingerprint, named: haveNames(sub.Request.Tasks), reports: make([]taskReport, len(sub.Request.Tasks)),
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

func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// Former reports whether the job had ended before this process began.
func (j *Job) Former() bool { return j.former }

// WaitEnd has the status sent to a channel of size 1 when the job has ended.
func (j *Job) WaitEnd(done chan api.Status) { j.waiting = append(j.waiting, done) }

// StopWaiting undoes WaitEnd.
func (j *Job) StopWaiting(done chan api.Status) {
	j.waiting = slices.DeleteFunc(j.waiting, func(w chan api.Status) bool { return w == done })
}

// WaitAccepted has answer called when the job's acceptance is on the disk, or could not be
// written.
func (j *Job) WaitAccepted(answer func(error)) { j.accepting = append(j.accepting, answer) }

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

// EndedDifference is Difference for a job that has ended, of which a fingerprint and the
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
	return cmp.Or(j.reports[task].attempt, j.firstAttempt())
}

// firstAttempt returns the number of the first attempts of the job's tasks.
func (j *Job) firstAttempt() int32 { return max(j.Submission.Attempt, 1) }

// newAttempts applies a NewAttempt message, of one task or of a range.
func (j *Job) newAttempts(m *sched.Message) {
	count := max(m.Count, 1)
	j.Status.Attempts += int(count)
	for task := m.First; task < m.First+count; task++ {
		j.reports[task].attempt, j.reports[task].began = m.Attempt, unknownStart
	}
}
