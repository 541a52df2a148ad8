package jobs

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// earlierOfJob bounds the earlier attempts that are kept of a job; the oldest go first.
const earlierOfJob = 100

// States of attempts that have ended and whose results do not count: another attempt followed, or
// their job was cancelled.
const (
	stateRetried   = "retried"
	stateCancelled = "cancelled"
)

// earlier is an attempt that failed or was lost and was followed by another one.
type earlier struct {
	task, attempt int32
	node          uint32 // index, +1; 0 when it is not known
	exit          int16
	code          code
	began         startTime
	elapsed       time.Duration
	reason        string
}

// addEarlier adds an attempt that ran at a node, "" when it is not known.
func (t *records) addEarlier(j *Job, e earlier, node string) {
	t.nodes.set(&e.node, node)
	if len(j.earlier) == earlierOfJob {
		t.nodes.release(j.earlier[0].node)
		j.earlier = slices.Delete(j.earlier, 0, 1)
	}
	j.earlier = append(j.earlier, e)
}

// counts removes an attempt from those that others followed: it was mistaken for lost, and its
// result is the one that was accepted.
func (t *records) counts(j *Job, task, attempt int32) {
	j.earlier = slices.DeleteFunc(j.earlier, func(e earlier) bool {
		same := e.task == task && e.attempt == attempt
		if same {
			t.nodes.release(e.node)
		}
		return same
	})
}

// retried records the attempt that a NewAttempt message of one task follows. report is that of
// its failure, nil when it was lost; the journal gets in r what it says.
func (t *records) retried(j *Job, m *sched.Message, report *wire.Item, r *journal.Record) {
	e, node := earlier{task: m.First, attempt: j.Attempt(m.First), reason: m.Reason}, m.Node
	if report != nil {
		node, e.exit, e.elapsed = report.From.Name, int16(report.Exit), report.Elapsed //nolint:gosec // at most 128 + a signal's number
		e.code, e.began = codeOf(report.Code), startOf(j, report)
		r.Elapsed = report.Elapsed
		if setFailure(r, report); r.Kind == journal.NewAttempt {
			r.Node = report.From.Name
		}
	}
	t.addEarlier(j, e, node)
}

// setFailure sets what a record of the journal has of the failure that was reported.
func setFailure(r *journal.Record, report *wire.Item) {
	r.Exit, r.Code, r.Began = int(int16(report.Exit)), codeOf(report.Code).String(), unixNano(report.Started) //nolint:gosec // at most 128 + a signal's number
}

// restoreEarlier is retried for a record of the journal. Programs of before recorded no more than
// the reason, and the node of a loss.
func (t *records) restoreEarlier(j *Job, r *journal.Record) {
	t.addEarlier(j, earlier{
		task: r.First, attempt: j.Attempt(r.First), reason: r.Reason, exit: int16(r.Exit), code: codeOf(r.Code), began: restoredStart(j, r.Began), elapsed: r.Elapsed, //nolint:gosec // 16 bits were written
	}, r.Node)
}

// restoredStart is startOf for the instant of a record, 0 for none.
func restoredStart(j *Job, began int64) startTime {
	if began == 0 {
		return unknownStart
	}
	return startTimeOf(j, time.Unix(0, began))
}

// EarlierAttempts returns the attempts of a job that were followed by others, at most most of
// them, the latest ones.
func (t *records) EarlierAttempts(j *Job, most int) (tasks []api.TaskStatus) {
	for _, e := range j.earlier[max(0, len(j.earlier)-max(most, 0)):] {
		tasks = append(tasks, api.TaskStatus{
			Task: int(e.task), Attempt: int(e.attempt), State: stateRetried, Node: t.nodes.name(e.node), Seconds: e.elapsed.Seconds(), Started: e.began.unix(j), Reason: e.reason, Exit: int(e.exit), Code: e.code.String(),
		})
	}
	return tasks
}

// RanEarlier returns the node of an attempt that was followed by another one, "" when it is not
// known.
func (t *records) RanEarlier(j *Job, task, attempt int) string {
	for _, e := range j.earlier {
		if int(e.task) == task && int(e.attempt) == attempt {
			return t.nodes.name(e.node)
		}
	}
	return ""
}

// keptStopped bounds the records of a job about tasks that were stopped. A job of more than resultTasks
// tasks has none.
const keptStopped = 1000

// stopped records where a task of a cancelled job ran, by the report of its end: its outputs and
// files are there. That is known once the core has ended the job: a task may end, and its node report
// it, before the cancel is on the disk. It returns what the journal is to keep, false for nothing.
func (t *records) stopped(j *Job, r *taskReport, report *wire.Item) (kept journal.Record, ok bool) {
	m := &report.Msg
	if j.final == nil || r.ended() || m.Attempt < r.attempt || m.Attempt == r.attempt && r.node != 0 { // the last: known
		return kept, false
	}
	t.nodes.set(&r.node, report.From.Name)
	r.attempt, r.elapsed, r.began = m.Attempt, report.Elapsed, startOf(j, report)
	if len(j.reports) > resultTasks || j.keptStopped >= keptStopped {
		return kept, false
	}
	j.keptStopped++
	return journal.Record{Kind: journal.Stopped, Job: j.ID, First: m.First, Attempt: m.Attempt, Node: report.From.Name, Elapsed: report.Elapsed, Began: unixNano(report.Started)}, true
}

// restoreStopped enters where the tasks of a cancelled job were stopped, as far as the journal knows.
func (t *records) restoreStopped(j *Job, e *journal.Ended) {
	for i := range e.Stopped {
		s := &e.Stopped[i]
		if int(s.Task) >= len(j.reports) || j.reports[s.Task].ended() {
			continue
		}
		r := &j.reports[s.Task]
		t.nodes.set(&r.node, s.Node)
		r.attempt, r.elapsed, r.began = s.Attempt, s.Elapsed, restoredStart(j, s.Began)
		j.keptStopped++
	}
}

// StoppedTasks returns the tasks that ran when their job was cancelled, at most most of them.
func (t *records) StoppedTasks(j *Job, most int) (tasks []api.TaskStatus) {
	for i := range j.reports {
		if r := &j.reports[i]; j.Ended && r.node != 0 && !r.ended() && len(tasks) < most {
			tasks = append(tasks, t.taskStatus(j, i, stateCancelled))
		}
	}
	return tasks
}
