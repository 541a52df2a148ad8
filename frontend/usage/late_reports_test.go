package usage

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/attempts"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// observed returns a table of jobs and what is counted of them.
func observed() (*jobs.Table, *Jobs) {
	tried := attempts.New(slog.New(slog.DiscardHandler))
	u := NewJobs(New(Options{Retention: time.Hour}), tried)
	return jobs.New(jobs.Options{Retention: 2 * time.Hour, Clock: runloop.NewClock(), Observers: []jobs.Observer{tried, u}}), u
}

// endReport returns the report of the first task's first attempt, which had its slot for a second.
func endReport(job sched.JobID) *wire.Item {
	report := &wire.Item{From: wire.Ref{Role: sched.Worker, Name: "n1"}, Msg: sched.Message{Kind: sched.Report, Job: job, Attempt: 1, Outcome: sched.Killed}}
	report.Elapsed = time.Second
	return report
}

// TestWaitOfALateReport: a node that was cut off reports an attempt long after its job was cancelled.
// The job has waited until then at most, also for a frontend that was started again since.
func TestWaitOfALateReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, u := observed()
		j := table.Start(&journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}, Submitted: time.Now().UnixNano()})
		table.Add(j)
		var effects jobs.Effects
		table.Record(j, &sched.Message{Kind: sched.JobEnded, Outcome: sched.Killed}, nil, &effects)
		table.Release(&effects)
		results := []byte{0, 0, 1, 0, 2, 0, 0} // no node; task 0 failed, in its second attempt
		table.RestoreEnded(&journal.Ended{Job: sched.JobID{Lo: 1}, Status: api.Status{Tasks: 1, Submitted: 1000, Released: 1050, Ended: 1060}, Results: results}, time.Minute)
		time.Sleep(time.Hour)
		for _, id := range []sched.JobID{{}, {Lo: 1}} {
			table.Unused(endReport(id))
		}
		<-u.keeper.queue // the end of the cancelled job
		if first, second := (<-u.keeper.queue).late, (<-u.keeper.queue).late; first.wait > time.Minute || second.wait != 10*time.Second {
			t.Errorf("the jobs have waited for %v and %v", first.wait, second.wait)
		}
	})
}

// TestUsageOfRetriedAttemptsIsRestored: what a retried attempt used is counted from the journal as by the
// process that received its report, and not once more when the report comes again.
func TestUsageOfRetriedAttemptsIsRestored(t *testing.T) {
	sub := &journal.Submission{Request: api.Request{Key: "job", Tasks: make([]api.Task, 2)}, Submitted: time.Now().Add(-time.Minute).UnixNano()}
	table, u := observed()
	j := table.Restore(sub)
	report := endReport(j.ID)
	report.Msg.Outcome, report.Started = sched.Failed, time.Now().Add(-time.Second)
	var effects jobs.Effects
	r := table.Record(j, &sched.Message{Kind: sched.NewAttempt, Attempt: 2, Outcome: sched.Failed}, report, &effects)
	want := u.jobs[j].Usage
	next, restored := observed()
	back := next.Restore(sub)
	next.RestoreRecord(back, &r, 1)
	got := restored.jobs[back].Usage
	next.Unused(report)
	if lost := restored.jobs[back].Lost; lost != want.Lost {
		t.Errorf("when the report came again, %v were lost", lost)
	}
	if wait := got.Wait; wait < 58*time.Second || wait > 61*time.Second {
		t.Errorf("the job has waited for %v", wait)
	}
	got.Wait, got.LongestWait = want.Wait, want.LongestWait // by another clock
	if got != want || want.Lost != time.Second {
		t.Errorf("after a restart %+v, before %+v", got, want)
	}
}
