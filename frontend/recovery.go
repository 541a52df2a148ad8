package frontend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// restore steps one unfinished job of the journal into the core: its submission, then
// its records since, in order.
//
// A record of a placement names a group; under a central master there is only one. Late
// binding writes no such records: after a restart the core adopts the tasks that workers
// report within two seconds, and each of the others gets a new attempt and is probed for.
// A journal can therefore be read under another policy than the one it was written under.
func (f *Frontend) restore(found *journal.Job) error {
	r := &found.Submission.Request
	if owner, err := ownerFor(ownerClaim{r.Owner, r.UserGroup, r.User}, identity.Self(), nil); err == nil {
		r.Owner = owner // of a job of a program that journaled none
	}
	j := f.owner.jobs.Restore(found.Submission)
	f.owner.staging.Restore(j.ID, r.Submitter, r.Stage)
	if f.owner.restoreHeld(j, found.Events) {
		return nil
	}
	m := j.Submit()
	m.Resent = true
	f.owner.dispatch.Step(&m)
	for i := range found.Events {
		if m, ok := f.owner.jobs.RestoreRecord(j, &found.Events[i], len(f.cfg.Masters)); ok {
			f.owner.dispatch.Step(&m)
		}
	}
	return nil
}

// restoreEnded enters the jobs of the journal that ended last, so that they are listed, and
// their outputs found, as before the restart.
func (f *Frontend) restoreEnded(j *journal.Journal) error {
	err := j.LastEnded(jobs.KeepEnded, func(e *journal.Ended, ago time.Duration) {
		f.owner.jobs.RestoreEnded(e, ago)
	})
	f.owner.jobs.EndRestore()
	return err
}

// restored is called when the journal has been read.
func (f *Frontend) restored(rep *journal.Report) {
	f.owner.dispatch.Step(&sched.Message{Kind: sched.Restored})
	f.cancelUnfit()
	for app, address := range rep.Apps {
		if _, err := f.listeners.Register(app, address); err != nil {
			f.log.Warn("a registered application was not taken over from the journal", "application", app, "address", address, "error", err)
		}
	}
	if rep.Jobs > 0 || rep.Torn != nil {
		f.log.Info("resumed from the journal", "found", rep.String())
	}
	f.log.Debug("journal open", "took", rep.Took.Round(time.Millisecond))
}

// cancelUnfit cancels the jobs that were accepted under another policy and that this one
// cannot run.
func (f *Frontend) cancelUnfit() {
	var unfit []*jobs.Job
	for _, j := range f.owner.jobs.All() {
		if _, unfinished := f.owner.dispatch.JobView(j.ID, 0); (unfinished || j.Held()) && j.Submission != nil && unfitReason(&f.policy, &j.Submission.Request) != nil {
			unfit = append(unfit, j)
		}
	}
	slices.SortFunc(unfit, func(a, b *jobs.Job) int { return strings.Compare(a.Status.Job, b.Status.Job) })
	for _, j := range unfit {
		telemetry.LogTrace(f.log, telemetry.Carrier(j.Submission.Request.Trace)).Error("a job of the journal cannot be run under this policy; it is cancelled", "job", j.Status.Job, "application", j.Submission.Request.App, "policy", f.policy.Name)
		f.owner.cancel(j, fmt.Sprintf("the frontend was restarted with policy %s, which runs sleep and exec tasks only", f.policy.Name))
	}
}
