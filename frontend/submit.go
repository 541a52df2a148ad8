package frontend

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Submit accepts a job: it answers when the job is on the disk, while the core
// distributes it already. The same key again is the same job.
func (f *Frontend) Submit(ctx context.Context, r *api.Request) (id string, duplicate bool, err error) {
	sub, err := f.prepare(r)
	if err != nil {
		f.owner.meter.refused()
		return "", false, err
	}
	known, err := f.journal.Lookup(sub.Job)
	if err != nil {
		return "", false, err
	}
	if known.Ended != nil {
		return r.Key, true, nil
	}
	type answer struct {
		duplicate bool
		err       error
	}
	done := make(chan answer, 1)
	if err := f.post(func() {
		f.owner.accept(sub, func(duplicate bool, err error) { done <- answer{duplicate, err} })
	}); err != nil {
		return "", false, f.door.Refusal(err, fmt.Sprintf("accepting job %q", r.Key))
	}
	select {
	case a := <-done:
		return r.Key, a.duplicate, a.err
	case <-ctx.Done():
		return "", false, &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: fmt.Sprintf("job %q", r.Key),
			Tried: "accepting it", Next: "submit it again with the same key: it is accepted once"}
	}
}

// prepare completes a request, and refuses what can never run here.
func (f *Frontend) prepare(r *api.Request) (*journal.Submission, error) {
	if r.Key == "" {
		r.Key = ulid.Make().String()
	}
	for i := range r.Tasks {
		if r.Tasks[i].ID == "" {
			r.Tasks[i].ID = strconv.Itoa(i)
		}
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := f.owner.plan.refuses(r); err != nil {
		return nil, err
	}
	sub := &journal.Submission{Job: sched.NewJobID(f.cfg.ID, r.Key), Submitted: time.Now().UnixNano(), Request: *r}
	sub.Class, sub.Why = api.ClassOf(r, f.cfg.Cutoff, f.defaultClass())
	return sub, nil
}

func (f *Frontend) defaultClass() sched.Class {
	if f.cfg.DefaultClass == sched.Long.String() {
		return sched.Long
	}
	return sched.Short
}

// accept enters a job, unless its key is known. answer is called once: when the
// acceptance is on the disk, or with the reason why it is refused.
func (o *owner) accept(sub *journal.Submission, answer func(duplicate bool, err error)) {
	if j := o.known(sub.Job); j != nil {
		if j.durable {
			answer(true, nil)
			return
		}
		j.accepting = append(j.accepting, func(err error) { answer(true, err) })
		return
	}
	if err := o.room(sub); err != nil {
		answer(false, err)
		o.meter.refused()
		return
	}
	j := newJob(sub.Job, sub)
	o.spans.began(j) // before it is journaled, with the context that its tasks carry
	j.accepting = []func(error){func(err error) { answer(false, err) }}
	err := o.journal.Append([]journal.Record{{Kind: journal.Accepted, Job: sub.Job, Submission: sub}}, func(err error) {
		if err := o.urge(func() { o.accepted(j, err) }); err != nil {
			answer(false, &api.Error{Problem: api.NotReady, What: "the frontend is stopping", Subject: fmt.Sprintf("job %q", sub.Request.Key),
				Next: "submit it again with the same key when the frontend is back: it is accepted once"})
		}
	})
	if err != nil {
		answer(false, err)
		o.meter.refused()
		return
	}
	o.jobs[j.id] = j
	j.arrived = o.clock.Now()
	o.meter.accepted(j)
	m := j.submit()
	o.stepShell(&m)
}

// room returns why a job has no place beside the unfinished ones, nil when it has.
func (o *owner) room(sub *journal.Submission) error {
	n := o.core.Owed().Tasks
	more := len(sub.Request.Tasks)
	if n+more <= o.cfg.MaxTasks {
		return nil
	}
	e := &api.Error{Problem: api.Busy, What: fmt.Sprintf("%d tasks are unfinished and %d more would pass the limit of %d (max_tasks)", n, more, o.cfg.MaxTasks),
		Subject: fmt.Sprintf("job %q at frontend %s", sub.Request.Key, o.cfg.ID), Tried: "accepting it; nothing was accepted",
		Next: "submit it later or to another frontend, or raise max_tasks", RetryAfter: time.Second}
	if more > o.cfg.MaxTasks {
		e.Problem, e.RetryAfter = api.Invalid, 0
		e.What = fmt.Sprintf("it has %d tasks, and this frontend holds %d at most (max_tasks)", more, o.cfg.MaxTasks)
		e.Next = "split it into several jobs, or raise max_tasks"
	}
	return e
}

// accepted goes on when the acceptance of a job is on the disk, or could not be
// written.
func (o *owner) accepted(j *job, err error) {
	j.durable = err == nil
	if j.durable {
		o.wasSubmitted(j)
	} else {
		o.fail(err) // the core distributes a job that nobody would know after a restart
	}
	for _, answer := range j.accepting {
		answer(err)
	}
	j.accepting = nil
}

// Cancel ends a job at once; what is queued of it is dropped and what runs is
// killed. Cancelling a job that has ended changes nothing.
func (f *Frontend) Cancel(ctx context.Context, name string) (api.Status, error) {
	if v, ok := f.applications.Cancel(name, "cancelled by its user"); ok {
		return api.Status{Job: name, App: name, State: api.StateCancelled, Running: len(v.Executors)}, nil
	}
	id, tried := sched.NewJobID(f.cfg.ID, name), fmt.Sprintf("cancelling job %q", name)
	done := make(chan api.Status, 1)
	if err := f.post(func() {
		j := f.owner.known(id)
		switch {
		case j == nil:
			close(done)
		case j.ended:
			done <- j.status
		default:
			j.waiting = append(j.waiting, done)
			f.owner.stepShell(&sched.Message{Kind: sched.Cancel, Job: id, Reason: "cancelled by its user"})
		}
	}); err != nil {
		return api.Status{}, f.door.Refusal(err, tried)
	}
	select {
	case s, known := <-done:
		if !known {
			return f.endedStatus(id, name)
		}
		return s, nil
	case <-ctx.Done():
		return api.Status{}, f.door.Late(tried)
	}
}

// endedStatus looks for a job among those that ended longer ago.
func (f *Frontend) endedStatus(id sched.JobID, name string) (api.Status, error) {
	known, err := f.journal.Lookup(id)
	if err != nil {
		return api.Status{}, err
	}
	if known.Ended == nil {
		return api.Status{}, &api.Error{Problem: api.NotFound, What: fmt.Sprintf("no such job, or it ended more than %v ago", f.cfg.Retention), Subject: fmt.Sprintf("job %q", name),
			Tried: "looking it up at frontend " + f.cfg.ID, Next: "check the id, and ask the frontend that accepted it"}
	}
	return known.Ended.Status, nil
}
