package usage

import (
	"time"

	"github.com/pigeon-sched/pigeon/frontend/attempts"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Jobs counts what the jobs in memory use, and passes those that have ended to a Keeper when
// their ends are on the disk. Make one with NewJobs.
type Jobs struct {
	keeper   *Keeper
	attempts *attempts.Table
	jobs     map[*jobs.Job]counts
}

// counts are what a job has used.
type counts struct {
	journal.Usage
	inVain map[vain]bool // attempts whose time is in Lost; nil for none
}

// vain is an attempt that had a slot and whose result does not count.
type vain struct{ task, attempt int32 }

// maxVain bounds the attempts of a job whose time in vain is counted: a report may come twice, so
// each is remembered.
const maxVain = 10_000

var _ jobs.Observer = (*Jobs)(nil)

// NewJobs returns an observer of jobs, of whose attempts a table is told before it.
func NewJobs(k *Keeper, a *attempts.Table) *Jobs {
	return &Jobs{keeper: k, attempts: a, jobs: map[*jobs.Job]counts{}}
}

// Observe counts.
func (u *Jobs) Observe(c jobs.Change) {
	used := u.jobs[c.Job]
	switch r := c.Record; {
	case c.Kind == jobs.Recorded && r.Kind == journal.JobEnded:
		r.Ended.Usage = used.Usage
		return
	case c.Kind == jobs.Recorded && c.Ends() && c.Report != nil:
		used.started(waited(&c))
		used.Slot += Occupied(c.Report)
	case c.Kind == jobs.Recorded && c.Tries():
		used.retried(&c)
	case c.Kind == jobs.Replayed && c.Ends() && r.Kind == journal.TaskReported:
		used.Slot += r.Elapsed
		used.started(max(time.Duration(r.At-waitsFrom(c.Job))-r.Elapsed, 0))
	case c.Kind == jobs.Replayed && c.Tries():
		used.restoreRetried(&c)
	case c.Kind == jobs.Late:
		u.late(&c, &used)
	case c.Kind == jobs.Ended:
		u.keeper.Add(Of(&c.Job.Status, &used.Usage))
		return
	case c.Kind == jobs.Forgotten:
		delete(u.jobs, c.Job)
		return
	default:
		return
	}
	u.jobs[c.Job] = used
}

// Of returns what a job that ended has used.
func Of(s *api.Status, u *journal.Usage) *api.JobUsage {
	return &api.JobUsage{
		Job: s.Job, Name: s.Name, Owner: s.Owner, Submitter: s.Submitter, App: s.App, Class: s.Class, State: s.State, Reason: s.Reason,
		Submitted: s.Submitted, Ended: s.Ended, Tasks: s.Tasks, Completed: s.Completed, Failed: s.Failed, Attempts: s.Attempts, Again: u.Again,
		SlotSeconds: u.Slot.Seconds(), LostSeconds: u.Lost.Seconds(), Started: u.Started, Wait: u.Wait.Seconds(), LongestWait: u.LongestWait.Seconds(),
	}
}

// started counts the start of an attempt, so long after its job began to wait: after the
// submission, or after the end of the jobs that it was held for.
func (u *counts) started(wait time.Duration) {
	if !u.Started {
		u.Started, u.Wait, u.LongestWait = true, wait, wait
	} else {
		u.Wait, u.LongestWait = min(u.Wait, wait), max(u.LongestWait, wait)
	}
}

// Occupied returns how long a reported attempt had its slot, without suspensions.
func Occupied(report *wire.Item) time.Duration {
	return max(report.Elapsed-max(report.Suspended, 0), 0)
}

// waited returns how long a job had waited when the attempt started that a report is about. The report
// may have been on its way for long, when its job has ended: no attempt starts after that.
func waited(c *jobs.Change) time.Duration {
	wait := max(time.Duration(c.Now-c.Job.Due)-c.Report.Elapsed, 0)
	if s := c.Job.Final; s != nil {
		wait = min(wait, jobs.Lasted(s))
	}
	return wait
}

// waitsFrom returns when the tasks of the job began to wait, in Unix nanoseconds.
func waitsFrom(j *jobs.Job) int64 {
	if j.Status.Released > 0 {
		return int64(j.Status.Released * 1e9)
	}
	return j.Submission.Submitted
}

// retried counts the attempts before those of a record.
func (u *counts) retried(c *jobs.Change) {
	u.Again += int(max(c.Record.Count, 1))
	if c.Report != nil && c.Record.Kind != journal.NewAttempts {
		u.started(waited(c))
		u.Lost += u.lost(c.Report)
	}
}

// lost returns how long a reported attempt had its slot in vain, 0 when that is counted.
func (u *counts) lost(report *wire.Item) time.Duration {
	if !u.add(vain{report.Msg.First, report.Msg.Attempt}) {
		return 0
	}
	return Occupied(report)
}

// add remembers an attempt that had a slot in vain, and reports whether it is to be counted.
func (u *counts) add(v vain) bool {
	if u.inVain[v] || len(u.inVain) >= maxVain {
		return false
	}
	if u.inVain == nil {
		u.inVain = map[vain]bool{}
	}
	u.inVain[v] = true
	return true
}

// late counts a report that caused no record. It may be of an attempt that had a slot in vain: of a
// job that was cancelled, or of a task whose result came from another attempt. What a job had in
// vain that ended before this process began may be counted already, unless its task failed.
func (u *Jobs) late(c *jobs.Change, used *counts) {
	m := &c.Report.Msg
	if u.attempts.Counted(c.Job, m.First, m.Attempt) {
		return
	}
	lost := used.lost(c.Report)
	switch {
	case lost == 0:
	case !c.Job.Ended:
		used.started(waited(c))
		used.Lost += lost
	default:
		u.keeper.AddLost(Of(&c.Job.Status, &used.Usage), lost, waited(c))
	}
}

// restoreRetried is retried for a record of the journal. An attempt that is counted in vain is
// remembered: its report may come again.
func (u *counts) restoreRetried(c *jobs.Change) {
	r := c.Record
	u.Again += int(max(r.Count, 1))
	if v := (vain{r.First, c.Job.Attempt(r.First)}); r.Elapsed > 0 && r.Count == 0 && u.add(v) {
		u.Lost += r.Elapsed
		if r.Began != 0 {
			u.started(max(time.Duration(r.Began-waitsFrom(c.Job)), 0))
		}
	}
}
