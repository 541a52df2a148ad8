package frontend

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
)

// submissions accepts jobs. It belongs to the owner goroutine.
type submissions struct {
	frontend string
	maxTasks int
	jobs     *jobs.Table
	dispatch *dispatch.Dispatcher
	journal  *journal.Journal
	refused  prometheus.Counter
	post     func(do func()) error
	fail     func(error) // ends the daemon
}

// accept enters a job, unless its key is known. answer is called once: when the
// acceptance is on the disk, or with the reason why it is refused. The core
// distributes the job meanwhile.
func (s *submissions) accept(sub *journal.Submission, answer func(duplicate bool, err error)) {
	if j := s.jobs.Known(sub.Job); j != nil {
		if j.Durable {
			answer(true, nil)
			return
		}
		j.WaitAccepted(func(err error) { answer(true, err) })
		return
	}
	if err := s.room(sub); err != nil {
		answer(false, err)
		s.refused.Inc()
		return
	}
	j := s.jobs.Start(sub)
	j.WaitAccepted(func(err error) { answer(false, err) })
	err := s.journal.Append([]journal.Record{{Kind: journal.Accepted, Job: sub.Job, Submission: sub}}, func(err error) {
		if err := s.post(func() { s.accepted(j, err) }); err != nil {
			answer(false, &api.Error{Problem: api.NotReady, What: "the frontend is stopping", Subject: fmt.Sprintf("job %q", sub.Request.Key),
				Next: "submit it again with the same key when the frontend is back: it is accepted once"})
		}
	})
	if err != nil {
		answer(false, err)
		s.refused.Inc()
		return
	}
	s.jobs.Add(j)
	m := j.Submit()
	s.dispatch.Step(&m)
}

// room returns why a job has no place beside the unfinished ones, nil when it has.
func (s *submissions) room(sub *journal.Submission) error {
	n, more := s.dispatch.Owed().Tasks, len(sub.Request.Tasks)
	if n+more <= s.maxTasks {
		return nil
	}
	e := &api.Error{Problem: api.Busy, What: fmt.Sprintf("%d tasks are unfinished and %d more would pass the limit of %d (max_tasks)", n, more, s.maxTasks),
		Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, s.frontend), Tried: "accepting it; nothing was accepted",
		Next: "submit it later or to another frontend, or raise max_tasks", RetryAfter: time.Second}
	if more > s.maxTasks {
		e.Problem, e.RetryAfter = api.Invalid, 0
		e.What = fmt.Sprintf("it has %d tasks, and this frontend holds %d at most (max_tasks)", more, s.maxTasks)
		e.Next = "split it into several jobs, or raise max_tasks"
	}
	return e
}

// accepted is called when the acceptance of a job is on the disk, or could not be
// written: then the daemon ends, as its core distributes a job that would be unknown
// after a restart.
func (s *submissions) accepted(j *jobs.Job, err error) {
	if err != nil {
		s.fail(err)
	}
	s.jobs.Accepted(j, err)
}
