package frontend

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Submit accepts a job: it answers when the job is on the disk, while the core
// distributes it already. The same key again is the same job.
func (f *Frontend) Submit(ctx context.Context, r *api.Request) (id string, duplicate bool, err error) {
	sub, err := f.prepare(r)
	if err != nil {
		f.metrics.refused.Inc()
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
		f.submissions.accept(sub, func(duplicate bool, err error) { done <- answer{duplicate, err} })
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
	if err := f.refuses(r); err != nil {
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

// refuses returns why the policy cannot run a job, nil when it can. Processes of
// applications serve the workers of groups only: under the other policies any
// worker runs any task, and kairos stops tasks in the middle.
func (f *Frontend) refuses(r *api.Request) error {
	if !f.policy.SingleMaster() || jobs.Needs(r) == "" {
		return nil
	}
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("policy %s runs sleep and exec tasks only, its tasks are for a backend of application %q", f.policy.Name, r.App),
		Subject: fmt.Sprintf("job %q", r.Key), Tried: "accepting it; nothing was accepted", Next: "run the cluster under pigeon, pigeon-sort or pigeon-x, or make them exec tasks"}
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
		j := f.owner.jobs.Known(id)
		switch {
		case j == nil:
			close(done)
		case j.Ended:
			done <- j.Status
		default:
			j.WaitEnd(done)
			f.owner.dispatch.Step(&sched.Message{Kind: sched.Cancel, Job: id, Reason: "cancelled by its user"})
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
