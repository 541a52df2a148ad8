package frontend

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Submit accepts a job. It returns when the job is on the disk; meanwhile the core already
// distributes it. A second submission under the same key is the same job.
func (srv *schedulerService) Submit(ctx context.Context, r *api.Request) (id string, duplicate bool, err error) {
	given := r.Key != ""
	sub, err := srv.prepare(r, identity.From(ctx))
	concernsJob(ctx, r.Key)
	if err != nil {
		srv.submissions.refuse("invalid", nil) // its submitter alone is at fault
		return "", false, err
	}
	known, err := srv.journal.Lookup(sub.Job)
	if err != nil {
		return "", false, err
	}
	var files *staging.Hold
	if known.Ended == nil {
		if files, err = srv.provide(ctx, sub, given && !known.Live); err != nil {
			return "", false, err
		}
	}
	done := make(chan entry, 1)
	if err := srv.mailbox.Post(func() { done <- srv.submissions.enter(sub, known.Ended, files) }); err != nil {
		files.Release()
		return "", false, srv.mailbox.Refusal(err, fmt.Sprintf("accepting job %q", r.Key))
	}
	select {
	case e := <-done:
		if e.err != nil {
			return "", false, e.err
		}
		if !e.acceptance.Wait(ctx) {
			return "", false, notInTime(r.Key)
		}
		return r.Key, e.duplicate, e.acceptance.Err()
	case <-ctx.Done():
		return "", false, notInTime(r.Key)
	}
}

// provide brings together what a submission needs that may be new here: how the jobs after which it
// starts have ended, its files and, where keys are those of the whole cluster, its key.
func (srv *schedulerService) provide(ctx context.Context, sub *journal.Submission, key bool) (files *staging.Hold, err error) {
	if sub.Ended, err = endedOthers(srv.journal, srv.scope, sub.Request.After); err != nil {
		return nil, err
	}
	if files, err = srv.staging.Hold(ctx, sub.Request.Submitter, sub.Request.Stage); err != nil {
		srv.submissions.refuse("stage", sub)
		return nil, err
	}
	if key {
		if sub.Shared, err = srv.takeKey(ctx, sub); err != nil {
			files.Release()
			return nil, err
		}
	}
	return files, nil
}

// prepare completes a request, and refuses a job that can never run here, or not for who
// submits it.
func (srv *schedulerService) prepare(r *api.Request, p identity.Principal) (sub *journal.Submission, err error) {
	r.Submitter, r.App = p.Name, appOf(p, r.App)
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
	if r.Frontend != "" && r.Frontend != srv.cfg.ID {
		return nil, forAnother(r, srv.cfg.ID)
	}
	if err := unfitReason(srv.policy, r); err != nil {
		return nil, err
	}
	sub = &journal.Submission{Job: sched.NewJobID(srv.scope, r.Key), Submitted: time.Now().UnixNano(), Request: *r}
	sub.Bytes, sub.Fingerprint = sub.Request.Share(), sub.Request.Fingerprint()
	sub.Bounded = p.Role == identity.User
	// The fingerprint covers the request as sent, so that a repetition matches although settings of owners
	// have changed since.
	if sub.Request.Owner, err = ownerFor(ownerClaim{r.Owner, r.UserGroup, r.User}, p, srv.owner.ownerUsers()); err != nil {
		return nil, err
	}
	sub.Class, sub.Why = api.ClassOf(r, srv.cfg.Cutoff, srv.cfg.defaultClass())
	return sub, nil
}

// unfitReason returns why the policy cannot run a job, nil when it can. Processes of
// applications serve only workers that belong to a group: under the other policies any
// worker may run any task, and kairos suspends running tasks.
func unfitReason(p *sched.Policy, r *api.Request) error {
	if p.NodesSuspend && r.NoSuspend {
		return cannotSuspend(p.Name, r.Key)
	}
	if !p.SingleMaster() || jobs.Needs(r) == "" {
		return nil
	}
	return noBackends(p.Name, r)
}

// submissions accepts jobs. It belongs to the owner goroutine.
type submissions struct {
	admission
	firstAttempt int32 // number of the first attempts of the jobs that this life accepts
	journal      *journal.Journal
	loop         *runloop.Loop[func()]
}

// entry is what became of a submission on the owner goroutine.
type entry struct {
	duplicate  bool
	err        error            // it is refused
	acceptance *jobs.Acceptance // of the job
}

// enter submits a job to the core, unless it is refused or known: then its files are released.
func (s *submissions) enter(sub *journal.Submission, former *journal.Ended, files *staging.Hold) entry {
	v := s.judge(sub, former)
	switch {
	case v.err != nil:
		return s.refused(sub, files, v.reason, v.err)
	case v.repeats:
		files.Release()
		return entry{duplicate: true, acceptance: v.acceptance}
	}
	o := s.owner
	sub.Attempt = journaledAttempt(s.firstAttempt)
	o.learning.Classify(sub)
	j := o.jobs.Start(sub)
	if err := s.journal.Append([]journal.Record{{Kind: journal.Accepted, Job: sub.Job, Submission: sub}}, func(err error) { s.written(j, err) }); err != nil {
		o.jobs.Refused(j)
		return s.refused(sub, files, "journal", err)
	}
	o.jobs.Add(j)
	o.staging.Accepted(j.ID, files)
	if len(v.until.list) > 0 {
		o.hold(j, v.until)
	} else {
		m := j.Submit()
		o.dispatch.Step(&m)
	}
	return entry{acceptance: j.Acceptance}
}

func (s *submissions) refused(sub *journal.Submission, files *staging.Hold, reason string, err error) entry {
	files.Release()
	s.refuse(reason, sub)
	return entry{err: err}
}

// written is called by the journal when the acceptance of a job is on the disk, or could not be
// written. In that case the daemon ends, because its core distributes a job that would
// be unknown after a restart.
func (s *submissions) written(j *jobs.Job, err error) {
	a := j.Acceptance
	if s.loop.PostUnbounded(func() {
		if err != nil {
			s.owner.fail(err)
		}
		s.owner.jobs.Accepted(j, err)
	}) != nil {
		a.End(stoppingMeanwhile(j.Status.Job))
	}
}

// sharedKeys observes the jobs whose keys are those of the whole cluster.
type sharedKeys struct{ frontend *Frontend }

// Observe has the keys of unfinished jobs renewed.
func (s sharedKeys) Observe(c jobs.Change) {
	if k := s.frontend.service.keys; k != nil && (c.Kind == jobs.Accepted || c.Kind == jobs.Restored) && c.Job.Submission.Shared {
		k.Hold(c.Job.Submission.Request.Key)
	}
}
