package client

import (
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// tooLarge is the error of a job that is too large for one call. What tasks share is sent once, unless the
// frontend is of an earlier version.
func tooLarge(r *api.Request, shared bool, cause error) error {
	size, err := wire.RequestBytes(r, shared)
	if err != nil {
		return errors.Join(cause, err)
	}
	next := "submit fewer tasks at a time, as several jobs"
	if len(r.Tasks) == 1 {
		next = "have the task read what is long from a file"
	} else if r.Backend == api.BackendExec && !shared {
		next += fmt.Sprintf(" (about %d tasks fit into one), put what is long in a file that nodes have or that is staged, or upgrade the frontend: to this one every task carries the whole command, variables and script", int64(len(r.Tasks))*client.DefaultMaxFrame/size)
	} else if r.Backend == api.BackendExec {
		next += ", or put what is long in a file that nodes have or that is staged"
	}
	return &api.Error{
		Problem: api.Invalid, Subject: fmt.Sprintf("job %q", r.Key), Tried: "submitting it; nothing was sent", Next: next,
		What: fmt.Sprintf("its %s are %d bytes in all, more than the limit of %d bytes for a job", sched.Count(len(r.Tasks), "task", "tasks"), size, client.DefaultMaxFrame),
	}
}

// AnswerError is the error of a submission that may or may not have been accepted.
type AnswerError struct {
	Job      string // its key
	Frontend string // the address of the frontend that may have accepted it
	cause    error
}

// Error returns what is known, and what to do.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("job %s may have been accepted by frontend %s, which did not answer: %v; 'pigeon status %s' shows it once that frontend answers, and the same job submitted with --key %s is accepted once", e.Job, e.Frontend, e.cause, e.Job, e.Job)
}

// Unwrap returns why there was no answer.
func (e *AnswerError) Unwrap() error { return e.cause }
