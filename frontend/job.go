package frontend

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// job is what the shell keeps beside the core's ledger. Owned by the owner
// goroutine.
type job struct {
	id        sched.JobID
	sub       *journal.Submission // nil once the job has ended
	status    api.Status          // Running is asked of the masters
	arrived   sched.Time          // at the core, for completion times
	durable   bool                // its acceptance is on the disk
	final     *api.Status         // how it ended, from when that is decided on
	ended     bool                // its end is on the disk: status has it
	endedAt   time.Time
	waiting   []chan api.Status // told when it has ended
	accepting []func(error)     // told when its acceptance is on the disk
	reports   []taskReport      // by task, of accepted results
	trace     jobTrace
	probes    probes
	grant     *grant // of an application's level; nil for a job that was submitted
}

// probes counts what was said of a job that is bound late, since this process
// began.
type probes struct {
	sent, asked, rejected int
	again                 int           // times that it was probed for because its reservations were stale
	heard                 time.Time     // when one was sent, asked for or turned away last
	patience              time.Duration // 0: its reservations are not stale
}

// taskReport is what is kept of a task's accepted result.
type taskReport struct {
	node    uint32 // index of the node that reported it, +1; 0 for none yet
	attempt int32
	failed  bool
	exit    int16 // status of a process; 0 also after a restart of the frontend
	elapsed time.Duration
}

// jobTrace is the span of the whole job; end is nil when it is not sampled.
type jobTrace struct {
	carrier api.Trace
	began   time.Time           // the span of this process
	again   map[int32]time.Time // when a task got its last attempt, of those that have had others
	end     func(api.Status)
}

func newJob(id sched.JobID, sub *journal.Submission) *job {
	return &job{
		id: id, sub: sub, reports: make([]taskReport, len(sub.Request.Tasks)),
		status: api.Status{
			Job: sub.Request.Key, App: sub.Request.App, State: api.StateQueued, Class: sub.Class.String(),
			Tasks: len(sub.Request.Tasks), Attempts: len(sub.Request.Tasks), Submitted: unixSeconds(time.Unix(0, sub.Submitted)),
		},
	}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// submit is the message that tells the core of the job.
func (j *job) submit() sched.Message {
	r := &j.sub.Request
	return sched.Message{
		Kind: sched.Submit, Job: j.id, Key: sched.DrawKey(r.Key), App: needs(r), Class: j.sub.Class,
		Estimate: sched.Time(r.Mean()), Count: int32(len(r.Tasks)), Retries: uint8(r.Retries), //nolint:gosec // validated
		Marks: marks(r),
	}
}

// marks are what can be done with tasks that run: sleeping ones can be stopped,
// continued and started anew, processes stopped and continued, and started anew if
// who submitted them says so.
func marks(r *api.Request) sched.Marks {
	switch {
	case r.Backend == api.BackendSleep, r.Backend == api.BackendExec && r.Restartable:
		return sched.Stoppable | sched.Restartable
	case r.Backend == api.BackendExec:
		return sched.Stoppable
	default:
		return 0
	}
}

// needs returns the application whose backend the job's tasks need, "" for the
// built-in backends, which every node has.
func needs(r *api.Request) string {
	if r.Backend == api.BackendApp {
		return r.App
	}
	return ""
}

// cargo returns the payloads and names of a range of tasks, for the wire: one
// payload where all are the same, no names where they are the numbers.
func (j *job) cargo(first, count int32) (payloads []api.Payload, names []string) {
	tasks := j.sub.Request.Tasks[first : first+count]
	payloads = make([]api.Payload, len(tasks))
	for i := range tasks {
		payloads[i] = tasks[i].Payload
	}
	if j.named() {
		names = make([]string, len(tasks))
		for i := range tasks {
			names[i] = tasks[i].ID
		}
	}
	return payloads, names
}

// named reports whether tasks have names other than their numbers.
func (j *job) named() bool {
	tasks := j.sub.Request.Tasks
	return len(tasks) > 0 && tasks[0].ID != "0"
}
