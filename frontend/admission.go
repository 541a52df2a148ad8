package frontend

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
)

// admission decides which submissions are accepted: the only place that knows when a key is that of a
// known job, and when there is room. It belongs to the owner goroutine.
type admission struct {
	cfg      *Config
	owner    *owner
	counts   []prometheus.Counter // of the refused, by refusalReasons
	refusals *events.Refusals
}

// refusalReasons are the values of the label of refused submissions: a request that is not valid,
// the limits, a quota of an owner, staged files that are too many or have not arrived, the key of
// another job, an unknown job in --after, and a journal that accepts nothing.
var refusalReasons = []string{"invalid", "max_tasks", "max_bytes", "quota", "stage", "key", "after", "journal"}

// refuse counts a refused submission. It may be called from anywhere.
func (a *admission) refuse(reason string, sub *journal.Submission) {
	a.counts[slices.Index(refusalReasons, reason)].Inc()
	if sub != nil {
		a.refusals.Add(reason, sub.Request.Owner, sub.Request.Submitter)
	}
}

// verdict is what is decided of a submission: it is refused, it repeats that of a known job, or it is
// a new job.
type verdict struct {
	err        error
	reason     string // of the refusal, one of refusalReasons
	repeats    bool
	acceptance *jobs.Acceptance // of the known job
	until      others           // the jobs after which the new one starts
}

// judge decides whether to accept a submission, and changes nothing. former is the job that the journal has under its
// key, nil for none; memory has those that are unfinished or ended recently.
func (a *admission) judge(sub *journal.Submission, former *journal.Ended) (v verdict) {
	if j := a.owner.jobs.Known(sub.Job); j != nil {
		v = a.compare(sub, j.Status.Submitter, j.Difference(sub))
		v.acceptance = j.Acceptance
		return v
	}
	if former != nil {
		return a.compare(sub, former.Status.Submitter, jobs.EndedDifference(former.Fingerprint, &former.Status, sub))
	}
	if v.reason, v.err = a.admit(sub); v.err == nil {
		if v.until, v.err = a.others(sub); v.err != nil {
			v.reason = "after"
		}
	}
	return v
}

// compare judges a request under the key of a known job: a repetition or a conflict. A request of
// somebody else is a conflict.
func (a *admission) compare(sub *journal.Submission, submitter, difference string) verdict {
	switch {
	case submitter != "" && submitter != sub.Request.Submitter:
		return verdict{reason: "key", err: a.keyTaken(sub, submitter)}
	case difference != "":
		return verdict{reason: "key", err: a.keyUsed(sub, difference)}
	}
	return verdict{repeats: true}
}

// admit returns an error if a job would exceed a limit, and the limit's name.
func (a *admission) admit(sub *journal.Submission) (limit string, err error) {
	switch n, more := a.owner.dispatch.Owed().Tasks+a.owner.jobs.Apart().Tasks, len(sub.Request.Tasks); {
	case more > a.cfg.MaxTasks:
		return "max_tasks", a.never(sub, fmt.Sprintf("it has %d tasks, and this frontend holds %d at most (max_tasks)", more, a.cfg.MaxTasks), "max_tasks")
	case n+more > a.cfg.MaxTasks:
		return "max_tasks", a.busy(sub, fmt.Sprintf("%d tasks are unfinished and %d more would pass the limit of %d (max_tasks)", n, more, a.cfg.MaxTasks), "max_tasks")
	}
	switch held, more := a.owner.held.HeldBytes(), sub.Bytes; {
	case more > a.cfg.MaxBytes:
		return "max_bytes", a.never(sub, fmt.Sprintf("it needs %d bytes, and this frontend holds %d at most for all unfinished jobs (max_bytes)", more, a.cfg.MaxBytes), "max_bytes")
	case held+more > a.cfg.MaxBytes:
		return "max_bytes", a.busy(sub, fmt.Sprintf("unfinished jobs hold %d bytes and %d more would pass the limit of %d (max_bytes); %s", held, more, a.cfg.MaxBytes, a.owner.held.HoldsMost()), "max_bytes")
	}
	if limit, err := a.admitUser(sub); err != nil {
		return limit, err
	}
	if e := a.owner.held.Check(sub.Request.Owner, len(sub.Request.Tasks), sub.Bytes); e != nil {
		return "quota", a.overQuota(sub, e)
	}
	return "", nil
}

// userPart is the part of max_tasks and of max_bytes that the jobs of one user may take: a
// user whose part is full does not keep other users' jobs out.
const userPart = 2

// admitUser returns an error if a job of a user would exceed what one user may hold.
func (a *admission) admitUser(sub *journal.Submission) (limit string, err error) {
	if !sub.Bounded {
		return "", nil
	}
	who, tasks, most := sub.Request.Submitter, len(sub.Request.Tasks), a.cfg.MaxTasks/userPart
	heldBytes, heldTasks := a.owner.held.HeldBy(who)
	if heldTasks+tasks > most {
		return "max_tasks", a.ofUser(sub, tasks > most, fmt.Sprintf("the unfinished jobs of %s have %d tasks and %d more would pass the limit of %d for one user (half of max_tasks)", who, heldTasks, tasks, most), "max_tasks")
	}
	if most := a.cfg.MaxBytes / userPart; heldBytes+sub.Bytes > most {
		return "max_bytes", a.ofUser(sub, sub.Bytes > most, fmt.Sprintf("the unfinished jobs of %s hold %d bytes and %d more would pass the limit of %d for one user (half of max_bytes)", who, heldBytes, sub.Bytes, most), "max_bytes")
	}
	return "", nil
}
