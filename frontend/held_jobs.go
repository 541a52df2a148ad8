package frontend

import (
	"fmt"
	"maps"
	"strings"

	"github.com/pigeon-sched/pigeon/frontend/after"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// endedOthers looks up how the jobs after which one starts have ended, as far as the journal knows
// it. It may be called from anywhere.
func endedOthers(j *journal.Journal, scope sched.JobScope, list []api.After) (ended map[sched.JobID]api.State, err error) {
	for _, a := range list {
		id := sched.NewJobID(scope, a.Job)
		known, err := j.Lookup(id)
		if err != nil {
			return nil, err
		}
		if known.Ended == nil {
			continue
		}
		if ended == nil {
			ended = map[sched.JobID]api.State{}
		}
		ended[id] = known.Ended.Status.State
	}
	return ended, nil
}

// others are the jobs after which one starts.
type others struct {
	list  []after.Other
	ended map[sched.JobID]api.State // how those that have ended did
}

// others returns the jobs after which one starts. The error names one that is not known.
func (a *admission) others(sub *journal.Submission) (o others, err error) {
	o.ended = map[sched.JobID]api.State{}
	maps.Copy(o.ended, sub.Ended)
	for i, other := range sub.Request.After {
		id := sched.NewJobID(a.owner.scope, other.Job)
		j := a.owner.jobs.Known(id)
		_, known := o.ended[id]
		switch {
		case j != nil && j.Grant == nil && j.Ended:
			o.ended[id] = j.Status.State
		case j != nil && j.Grant == nil, known:
		default:
			return others{}, unknownOther(other.Job, sub.Request.Key, a.cfg.ID)
		}
		o.list = append(o.list, after.Other{Job: id, After: other, Index: int32(i)}) //nolint:gosec // validated
	}
	return o, nil
}

// hold holds a job that was entered in the table until others have ended.
func (o *owner) hold(j *jobs.Job, until others) {
	o.after.Hold(j.ID, until.list)
	o.jobs.Hold(j, heldReason(until.list))
	for _, other := range until.list {
		if s, has := until.ended[other.Job]; has {
			o.othersEnded(other.Job, s)
		}
	}
}

// heldJobs observes the ends of jobs, for which others are held.
type heldJobs struct{ owner *owner }

// Observe applies them.
func (h heldJobs) Observe(c jobs.Change) {
	if c.Kind == jobs.Ended {
		h.owner.othersEnded(c.Job.ID, c.Job.Status.State)
	}
}

// othersEnded applies the end of a job to those that are held for it.
func (o *owner) othersEnded(id sched.JobID, s api.State) {
	for _, step := range o.after.Ended(id, s) {
		j := o.jobs.Get(step.Job)
		switch {
		case j == nil || !j.Held():
		case step.Hopeless:
			o.endHeld(j, sched.Failed, hopelessReason(&step.Other.After, s))
		default:
			record := o.jobs.Met(j, step.Other.Index)
			o.outbox.Add(record)
			if !step.Free {
				o.jobs.Hold(j, heldReason(o.after.Waits(j.ID)))
				continue
			}
			// Only when that is on the disk: otherwise a job that was distributed, and is held
			// again after a restart, would get the same attempt numbers.
			e := o.outbox.Effects()
			e.free = append(e.free, freed{j, record.At})
		}
	}
}

// freed is a held job that no longer waits for anything, and since when.
type freed struct {
	*jobs.Job
	at int64 // Unix nanoseconds
}

// free steps a job into the core.
func (o *owner) free(j freed) {
	if !j.Held() {
		return // cancelled meanwhile
	}
	o.jobs.Free(j.Job, j.at)
	m := j.Submit()
	o.dispatch.Step(&m)
}

// endHeld ends a job that is held.
func (o *owner) endHeld(j *jobs.Job, how sched.Outcome, reason string) {
	o.after.Drop(j.ID)
	coreJobs{o.jobs, o}.Persist(&sched.Message{Kind: sched.JobEnded, Job: j.ID, Outcome: how, Reason: reason})
}

// cancel ends a job that has not ended.
func (o *owner) cancel(j *jobs.Job, reason string) {
	if j.Held() {
		o.endHeld(j, sched.Killed, reason)
		return
	}
	o.dispatch.Step(&sched.Message{Kind: sched.Cancel, Job: j.ID, Reason: reason})
}

// restoreHeld enters a job of the journal as held, unless it was released. It returns whether it
// is held.
func (o *owner) restoreHeld(j *jobs.Job, events []journal.Record) bool {
	list, met, at := []after.Other(nil), map[int32]bool{}, int64(0)
	for i := range events {
		if e := &events[i]; e.Kind == journal.Met {
			met[e.First], at = true, e.At
		}
	}
	for i, a := range j.Submission.Request.After {
		if !met[int32(i)] { //nolint:gosec // validated
			list = append(list, after.Other{Job: sched.NewJobID(o.scope, a.Job), After: a, Index: int32(i)}) //nolint:gosec // likewise
		}
	}
	if len(list) == 0 {
		if at != 0 {
			o.jobs.FreeSince(j, at)
		}
		return false
	}
	o.after.Hold(j.ID, list)
	o.jobs.Hold(j, heldReason(list))
	return true
}

// resumeHeld applies, after a restart, the ends of the jobs for which held ones wait. A job that
// is not known any more has ended in an unknown way.
func (o *owner) resumeHeld(j *journal.Journal) error {
	for _, id := range o.after.Awaited() {
		if known := o.jobs.Known(id); known != nil {
			if known.Ended {
				o.othersEnded(id, known.Status.State)
			}
			continue
		}
		s := stateForgotten
		known, err := j.Lookup(id)
		if err != nil {
			return err
		}
		if known.Ended != nil {
			s = known.Ended.Status.State
		}
		o.othersEnded(id, s)
	}
	return nil
}

// stateForgotten stands for the end of a job that is not known any more.
const stateForgotten = api.StateFailed + " or cancelled, or is not known any more"

// heldReason describes why a job is held.
func heldReason(list []after.Other) string {
	const most = 5
	var parts []string
	for i := range list[:min(len(list), most)] {
		how := "has completed"
		if list[i].After.Any {
			how = "has ended"
		}
		parts = append(parts, fmt.Sprintf("job %s %s", list[i].After.Job, how))
	}
	if more := len(list) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more have ended", more))
	}
	return "held until " + strings.Join(parts, " and ")
}

// hopelessReason describes why a job can never start.
func hopelessReason(a *api.After, s api.State) string {
	how := string(s)
	if s == api.StateCancelled {
		how = "was cancelled"
	}
	return fmt.Sprintf("job %s, after which it was to start, %s; 'pigeon explain %s' says more, and --after %s:any starts a job whatever becomes of the other", a.Job, how, a.Job, a.Job)
}
