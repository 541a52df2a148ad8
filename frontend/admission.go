package frontend

import (
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// admission bounds the unfinished jobs of this frontend by their tasks and their bytes, all
// together and those of each owner with a quota. It
// belongs to the owner goroutine.
type admission struct {
	frontend string
	maxTasks int
	maxBytes int64
	jobs     *jobs.Table
	held     *quotas.Table
	dispatch *dispatch.Dispatcher
}

// admit returns an error if a job would exceed a limit, and the limit's name.
func (a *admission) admit(sub *journal.Submission) (limit string, err error) {
	switch n, more := a.dispatch.Owed().Tasks+a.jobs.Apart().Tasks, len(sub.Request.Tasks); {
	case more > a.maxTasks:
		return "max_tasks", a.never(sub, fmt.Sprintf("it has %d tasks, and this frontend holds %d at most (max_tasks)", more, a.maxTasks), "max_tasks")
	case n+more > a.maxTasks:
		return "max_tasks", a.busy(sub, fmt.Sprintf("%d tasks are unfinished and %d more would pass the limit of %d (max_tasks)", n, more, a.maxTasks), "max_tasks")
	}
	switch held, more := a.held.HeldBytes(), sub.Bytes; {
	case more > a.maxBytes:
		return "max_bytes", a.never(sub, fmt.Sprintf("it needs %d bytes, and this frontend holds %d at most for all unfinished jobs (max_bytes)", more, a.maxBytes), "max_bytes")
	case held+more > a.maxBytes:
		return "max_bytes", a.busy(sub, fmt.Sprintf("unfinished jobs hold %d bytes and %d more would pass the limit of %d (max_bytes); %s", held, more, a.maxBytes, a.held.HoldsMost()), "max_bytes")
	}
	if limit, err := a.admitUser(sub); err != nil {
		return limit, err
	}
	if e := a.held.Check(sub.Request.Owner, len(sub.Request.Tasks), sub.Bytes); e != nil {
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
	who, tasks, most := sub.Request.Submitter, len(sub.Request.Tasks), a.maxTasks/userPart
	heldBytes, heldTasks := a.held.HeldBy(who)
	if heldTasks+tasks > most {
		return "max_tasks", a.ofUser(sub, tasks > most, fmt.Sprintf("the unfinished jobs of %s have %d tasks and %d more would pass the limit of %d for one user (half of max_tasks)", who, heldTasks, tasks, most), "max_tasks")
	}
	if most := a.maxBytes / userPart; heldBytes+sub.Bytes > most {
		return "max_bytes", a.ofUser(sub, sub.Bytes > most, fmt.Sprintf("the unfinished jobs of %s hold %d bytes and %d more would pass the limit of %d for one user (half of max_bytes)", who, heldBytes, sub.Bytes, most), "max_bytes")
	}
	return "", nil
}

// ofUser refuses a job for which a user's part has no room, or never has any.
func (a *admission) ofUser(sub *journal.Submission, never bool, what, limit string) error {
	if never {
		return a.never(sub, what, limit)
	}
	return a.busy(sub, what, limit)
}

// overQuota refuses a job that would pass a quota of its owner or of one above it.
func (a *admission) overQuota(sub *journal.Submission, e *quotas.Limit) error {
	refusal := a.never(sub, e.What, e.Key)
	if !e.Never {
		refusal.Problem, refusal.RetryAfter = api.Busy, time.Second
		refusal.Next = "submit it later, when the owner's jobs have ended, or to another frontend, or raise its quota in " + e.Key
	}
	return refusal
}

// busy refuses a job for which there may be room later.
func (a *admission) busy(sub *journal.Submission, what, limit string) error {
	e := a.never(sub, what, limit)
	e.Problem, e.RetryAfter = api.Busy, time.Second
	e.Next = "submit it later or to another frontend, or raise " + limit
	return e
}

// never refuses a job for which there will never be room.
func (a *admission) never(sub *journal.Submission, what, limit string) *api.Error {
	return &api.Error{Problem: api.Invalid, What: what, Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, a.frontend),
		Tried: "accepting it; nothing was accepted", Next: "split it into several jobs, or raise " + limit}
}

// keyUsed refuses a request for other work under the key of a known job.
func (a *admission) keyUsed(sub *journal.Submission, difference string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("its key is that of a job that was accepted before, and this is another job: %s", difference),
		Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, a.frontend), Tried: "accepting it; nothing was accepted, and the known job is as it was",
		Next: "submit it under a key of its own; to repeat the known job's submission, send the same request again"}
}

// keyTaken refuses a request under the key of a job that another user submitted.
func (a *admission) keyTaken(sub *journal.Submission, submitter string) error {
	return &api.Error{Problem: api.Denied, What: fmt.Sprintf("its key is that of a job of %s", submitter),
		Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, a.frontend), Tried: "accepting it; nothing was accepted, and the known job is as it was",
		Next: "submit it under a key of its own, or without one"}
}
