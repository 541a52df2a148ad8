package frontend

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/policy"
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
	if e := known.Ended; e != nil {
		return srv.submissions.repeated(sub, e.Status.Submitter, jobs.EndedDifference(e.Fingerprint, &e.Status, sub))
	}
	if sub.Ended, err = endedOthers(srv.journal, srv.scope, r.After); err != nil {
		return "", false, err
	}
	files, err := srv.staging.Hold(ctx, sub.Request.Submitter, sub.Request.Stage)
	if err != nil {
		srv.submissions.refuse("stage", sub)
		return "", false, err
	}
	type answer struct {
		duplicate bool
		err       error
	}
	done := make(chan answer, 1)
	if given && !known.Live {
		if sub.Shared, err = srv.takeKey(ctx, sub); err != nil {
			files.Release()
			return "", false, err
		}
	}
	if err := srv.mailbox.Post(func() {
		srv.submissions.accept(sub, files, func(duplicate bool, err error) {
			if err == nil && sub.Shared {
				srv.keys.Hold(r.Key)
			}
			if duplicate || err != nil {
				files.Release()
			}
			done <- answer{duplicate, err}
		})
	}); err != nil {
		files.Release()
		return "", false, srv.mailbox.Refusal(err, fmt.Sprintf("accepting job %q", r.Key))
	}
	select {
	case a := <-done:
		return r.Key, a.duplicate, a.err
	case <-ctx.Done():
		return "", false, &api.Error{Problem: api.NotReady, What: "the answer did not come in time", Subject: fmt.Sprintf("job %q", r.Key),
			Tried: "accepting it", Next: "submit it again with the same key: it is accepted once"}
	}
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
		return nil, &api.Error{Problem: api.NotFound, What: fmt.Sprintf("it is for frontend %q, and this is %q", r.Frontend, srv.cfg.ID), Subject: fmt.Sprintf("job %q", r.Key),
			Tried: "accepting it; nothing was accepted", Next: "submit it at that frontend"}
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
		return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("policy %s suspends any task, and its tasks may not be suspended (no_suspend)", p.Name), Subject: fmt.Sprintf("job %q", r.Key),
			Tried: "accepting it; nothing was accepted", Next: "leave that out, or run the cluster under another policy"}
	}
	if !p.SingleMaster() || jobs.Needs(r) == "" {
		return nil
	}
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("policy %s runs sleep and exec tasks only, its tasks are for a backend of application %q", p.Name, r.App),
		Subject: fmt.Sprintf("job %q", r.Key), Tried: "accepting it; nothing was accepted", Next: fmt.Sprintf("run the cluster under one of the policies %s, or make them exec tasks", strings.Join(policy.Grouped(), ", "))}
}

// submissions accepts jobs. It belongs to the owner goroutine.
type submissions struct {
	admission
	scope        sched.JobScope // of the ids of jobs
	firstAttempt int32          // number of the first attempts of the jobs that this life accepts
	journal      *journal.Journal
	refused      []prometheus.Counter // by refusalReasons
	refusals     *events.Refusals
	post         func(do func()) error
	fail         func(error) // ends the daemon
	staging      *staging.Keeper
	learning     *learning
	// hold holds a job until others have ended.
	hold func(j *jobs.Job, until others)
}

// refusalReasons are the values of the label of refused submissions: a request that is not valid,
// the limits, a quota of an owner, staged files that are too many or have not arrived, the key of
// another job, an unknown job in --after, and a journal that accepts nothing.
var refusalReasons = []string{"invalid", "max_tasks", "max_bytes", "quota", "stage", "key", "after", "journal"}

// refuse counts a refused submission. It may be called from anywhere.
func (s *submissions) refuse(reason string, sub *journal.Submission) {
	s.refused[slices.Index(refusalReasons, reason)].Inc()
	if sub != nil {
		s.refusals.Add(reason, sub.Request.Owner, sub.Request.Submitter)
	}
}

// repeated returns the answer to a request under the key of a known job, which is not that
// job's when somebody else submitted it. It may be called from anywhere.
func (s *submissions) repeated(sub *journal.Submission, submitter, difference string) (id string, duplicate bool, err error) {
	switch {
	case submitter != "" && submitter != sub.Request.Submitter:
		err = s.keyTaken(sub, submitter)
	case difference != "":
		err = s.keyUsed(sub, difference)
	default:
		return sub.Request.Key, true, nil
	}
	s.refuse("key", sub)
	return "", false, err
}

// admissible returns the error with which accept would refuse a job now, and its reason. It
// changes nothing.
func (s *submissions) admissible(sub *journal.Submission) (reason string, err error) {
	if s.jobs.Known(sub.Job) != nil {
		return "", nil // then it is compared with that one
	}
	_, reason, err = s.check(sub)
	return reason, err
}

// check returns the jobs after which a new job starts, or the error with which it is refused now,
// and its reason.
func (s *submissions) check(sub *journal.Submission) (until others, reason string, err error) {
	if reason, err = s.admit(sub); err != nil {
		return others{}, reason, err
	}
	if until, err = s.others(sub); err != nil {
		return others{}, "after", err
	}
	return until, "", nil
}

// accept submits a job to the core, unless its key is known. answer is called once: when
// the acceptance is on the disk, or with the reason of the refusal. Meanwhile the core
// distributes the job.
func (s *submissions) accept(sub *journal.Submission, files *staging.Hold, answer func(duplicate bool, err error)) {
	if j := s.jobs.Known(sub.Job); j != nil {
		if _, _, err := s.repeated(sub, j.Status.Submitter, j.Difference(sub)); err != nil {
			answer(false, err)
			return
		}
		if j.Durable {
			answer(true, nil)
			return
		}
		j.WaitAccepted(func(err error) { answer(true, err) })
		return
	}
	until, reason, err := s.check(sub)
	if err != nil {
		answer(false, err)
		s.refuse(reason, sub)
		return
	}
	sub.Attempt = journaledAttempt(s.firstAttempt)
	s.learning.Classify(sub)
	j := s.jobs.Start(sub)
	j.WaitAccepted(func(err error) { answer(false, err) })
	err = s.journal.Append([]journal.Record{{Kind: journal.Accepted, Job: sub.Job, Submission: sub}}, func(err error) {
		if err := s.post(func() { s.accepted(j, err) }); err != nil {
			answer(false, &api.Error{Problem: api.NotReady, What: "the frontend is stopping", Subject: fmt.Sprintf("job %q", sub.Request.Key),
				Next: "submit it again with the same key when the frontend is back: it is accepted once"})
		}
	})
	if err != nil {
		answer(false, err)
		s.jobs.Refused(j)
		s.refuse("journal", sub)
		return
	}
	s.jobs.Add(j)
	if files != nil {
		s.staging.Accepted(j.ID, files)
	}
	if len(until.list) > 0 {
		s.hold(j, until)
		return
	}
	m := j.Submit()
	s.dispatch.Step(&m)
}

// accepted is called when the acceptance of a job is on the disk, or could not be
// written. In that case the daemon ends, because its core distributes a job that would
// be unknown after a restart.
func (s *submissions) accepted(j *jobs.Job, err error) {
	if err != nil {
		s.fail(err)
	}
	s.jobs.Accepted(j, err)
}
