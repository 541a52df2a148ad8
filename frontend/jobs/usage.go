package jobs

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Usage receives what the jobs that ended have used, when their ends are on the disk. It must not
// wait.
type Usage interface {
	Add(*api.JobUsage)
	// AddLost adds time that an attempt of a job that ended had a slot in vain, and
	// how long the job had waited when that attempt started.
	AddLost(j *api.JobUsage, lost, wait time.Duration)
}

// vain is an attempt that had a slot and whose result does not count.
type vain struct{ task, attempt int32 }

// maxVain bounds the attempts of a job whose time in vain is counted: a report may come twice, so
// each is remembered.
const maxVain = 10_000

// UsageOf returns what a job that ended has used.
func UsageOf(s *api.Status, u *journal.Usage) *api.JobUsage {
	return &api.JobUsage{
		Job: s.Job, Name: s.Name, Owner: s.Owner, Submitter: s.Submitter, App: s.App, Class: s.Class, State: s.State, Reason: s.Reason,
		Submitted: s.Submitted, Ended: s.Ended, Tasks: s.Tasks, Completed: s.Completed, Failed: s.Failed, Attempts: s.Attempts, Again: u.Again,
		SlotSeconds: u.Slot.Seconds(), LostSeconds: u.Lost.Seconds(), Started: u.Started, Wait: u.Wait.Seconds(), LongestWait: u.LongestWait.Seconds(),
	}
}

// started counts the start of an attempt, so long after its job began to wait: after the
// submission, or after the end of the jobs that it was held for.
func (j *Job) started(wait time.Duration) {
	if u := &j.usage; !u.Started {
		u.Started, u.Wait, u.LongestWait = true, wait, wait
	} else {
		u.Wait, u.LongestWait = min(u.Wait, wait), max(u.LongestWait, wait)
	}
}

// Occupied returns for how long a reported attempt had its slot: not while it was suspended.
func Occupied(report *wire.Item) time.Duration {
	return max(report.Elapsed-max(report.Suspended, 0), 0)
}

// reportedStart counts the start of the attempt that a report is about.
func (t *records) reportedStart(j *Job, report *wire.Item) { j.started(t.waited(j, report)) }

// waited returns how long a job had waited when the attempt started that a report is about. The report
// may have been on its way for long, when its job has ended: no attempt starts after that.
func (t *records) waited(j *Job, report *wire.Item) time.Duration {
	wait := max(time.Duration(t.opts.Clock.Now()-j.due)-report.Elapsed, 0)
	if j.final != nil {
		wait = min(wait, lasted(j.final))
	}
	return wait
}

// lasted returns how long a job that has ended lasted since it began to wait.
func lasted(s *api.Status) time.Duration {
	return time.Duration(max(s.Ended-max(s.Submitted, s.Released), 0) * 1e9)
}

// countAccepted counts the attempt of a result that was accepted.
func (t *records) countAccepted(j *Job, report *wire.Item) {
	t.applied = report
	t.reportedStart(j, report)
	j.usage.Slot += Occupied(report)
}

// countRetried counts the attempts before those of a NewAttempt message; report is that of the
// one, nil when it was lost.
func (t *records) countRetried(j *Job, m *sched.Message, report *wire.Item) {
	j.usage.Again += int(max(m.Count, 1))
	if report != nil && m.Count == 0 {
		t.applied = report
		t.reportedStart(j, report)
		j.usage.Lost += t.inVain(j, report)
	}
}

// inVain returns for how long a reported attempt had its slot in vain, 0 when that is counted.
func (t *records) inVain(j *Job, report *wire.Item) time.Duration {
	if !j.addVain(vain{report.Msg.First, report.Msg.Attempt}) {
		return 0
	}
	return Occupied(report)
}

// addVain remembers an attempt that had a slot in vain, and reports whether it is to be counted.
func (j *Job) addVain(v vain) bool {
	if j.inVain[v] || len(j.inVain) >= maxVain {
		return false
	}
	if j.inVain == nil {
		j.inVain = map[vain]bool{}
	}
	j.inVain[v] = true
	return true
}

// Unused is called for each report that was stepped. One that changed nothing may be of an attempt
// that had a slot in vain: of a job that was cancelled, or of a task whose result came from another
// attempt. It returns what the journal is to keep of the report, false for nothing.
func (t *Table) Unused(report *wire.Item) (kept journal.Record, ok bool) {
	used := t.applied == report
	t.applied = nil
	j := t.jobs[report.Msg.Job]
	task := report.Msg.First
	if used || j == nil || j.Grant != nil || report.Elapsed <= 0 || task < 0 || int(task) >= len(j.reports) {
		return kept, false
	}
	r := &j.reports[task]
	if r.ended() && (r.node != 0 && r.attempt == report.Msg.Attempt || r.attempt == 0) {
		return kept, false // the accepted result once more, or of a job that ended before this process began
	}
	kept, ok = t.stopped(j, r, report)
	if j.former && !r.failed() {
		return kept, ok // what such a job had in vain may be counted already
	}
	lost := t.inVain(j, report)
	switch {
	case lost == 0:
	case !j.Ended:
		t.reportedStart(j, report)
		j.usage.Lost += lost
	case t.opts.Usage != nil:
		t.opts.Usage.AddLost(UsageOf(&j.Status, &j.usage), lost, t.waited(j, report))
	}
	return kept, ok
}

// restoreUsage counts what a record of the journal has of an attempt that ended. It is called before
// the record is applied. An attempt that is counted in vain is remembered: its report may come again.
func (j *Job) restoreUsage(r *journal.Record) {
	switch r.Kind {
	case journal.NewAttempt, journal.NewAttempts, journal.Lost:
		j.usage.Again += int(max(r.Count, 1))
		if v := (vain{r.First, j.Attempt(r.First)}); r.Elapsed > 0 && r.Count == 0 && j.addVain(v) {
			j.usage.Lost += r.Elapsed
			if r.Began != 0 {
				j.started(max(time.Duration(r.Began-j.waitsFrom()), 0))
			}
		}
	case journal.TaskReported:
		j.usage.Slot += r.Elapsed
		j.started(max(time.Duration(r.At-j.waitsFrom())-r.Elapsed, 0))
	default:
	}
}

// waitsFrom returns when the tasks of the job began to wait, in Unix nanoseconds.
func (j *Job) waitsFrom() int64 {
	if j.Status.Released > 0 {
		return int64(j.Status.Released * 1e9)
	}
	return j.Submission.Submitted
}
