package attempts

import (
	"errors"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Table has the attempts of the jobs that a frontend has in memory. It belongs to the owner
// goroutine. Make one with New.
type Table struct {
	log   *slog.Logger
	nodes nodeNames
	jobs  map[*jobs.Job]*attempts
}

var _ jobs.Observer = (*Table)(nil)

// attempts are those of one job.
type attempts struct {
	submitted float64 // in Unix seconds
	tasks     []attempt
	earlier   []earlier // that were followed by others
	stopped   int       // records of the journal about tasks that were stopped
}

// attempt is what is kept of a task: its last attempt and its accepted result.
type attempt struct {
	node    uint32 // index of the node that reported the result, or the end of a cancelled job's task, +1; 0 for none yet
	number  int32  // that was accepted, or that counts now; 0: the job's first, or not known
	exit    int16  // status of a process
	outcome sched.Outcome
	code    code      // of a failure
	began   startTime // while it runs, known where this frontend launched it
	elapsed time.Duration
}

// ended reports whether there is a result.
func (a *attempt) ended() bool { return a.outcome != sched.Unfinished }

func (a *attempt) failed() bool { return a.outcome == sched.Failed }

// New returns an empty table.
func New(log *slog.Logger) *Table {
	return &Table{log: log, nodes: newNodeNames(), jobs: map[*jobs.Job]*attempts{}}
}

// Observe keeps what the records of jobs say of attempts.
func (t *Table) Observe(c jobs.Change) {
	switch a := t.jobs[c.Job]; c.Kind {
	case jobs.Added, jobs.Restored, jobs.Granted:
		t.jobs[c.Job] = newAttempts(&c.Job.Status)
	case jobs.Launching:
		a.launched(c.Launch.First)
	case jobs.Recorded, jobs.Replayed:
		t.record(a, &c)
	case jobs.Late:
		t.stop(a, &c)
	case jobs.Former:
		a, err := t.restore(c.Former)
		if t.jobs[c.Job] = a; err != nil {
			t.log.Warn("the nodes of an ended job are not known any more", "job", c.Job.Status.Job, "error", err)
		}
	case jobs.Forgotten:
		if a != nil { // it was not refused
			t.nodes.forget(a)
			delete(t.jobs, c.Job)
		}
	default:
	}
}

func newAttempts(s *api.Status) *attempts {
	return &attempts{submitted: s.Submitted, tasks: make([]attempt, s.Tasks)}
}

// record applies a record, before the job has it.
func (t *Table) record(a *attempts, c *jobs.Change) {
	switch r := c.Record; {
	case c.Tries():
		if r.Kind != journal.NewAttempts {
			t.retried(a, r, c.Job.Attempt(r.First))
		}
		for i := r.First; i < r.First+max(r.Count, 1); i++ {
			a.tasks[i].number, a.tasks[i].began = r.Attempt, unknownStart
		}
	case c.Ends():
		t.taskEnded(a, r, c.Report)
	case r.Kind == journal.JobEnded:
		r.Ended.Results, r.Ended.Earlier, r.Ended.Times = t.results(a), t.earlierAttempts(a), a.times()
	}
}

// taskEnded applies an accepted result. report is nil for one of the journal.
func (t *Table) taskEnded(a *attempts, r *journal.Record, report *wire.Item) {
	t.counts(a, r.First, r.Attempt)
	task := &a.tasks[r.First]
	task.number, task.outcome, task.elapsed, task.began = r.Attempt, r.Outcome, r.Elapsed, unknownStart
	if r.Kind != journal.TaskReported {
		return
	}
	t.nodes.set(&task.node, r.Node)
	task.exit, task.code = int16(r.Exit), codeOf(r.Code) //nolint:gosec // at most 128 + a signal's number
	switch {
	case report != nil:
		task.exit, task.began = int16(report.Exit), a.startOf(report) //nolint:gosec // likewise
	case r.Began != 0:
		task.began = a.startAt(r.Began)
	default:
		task.began = a.startTime(time.Unix(0, r.At).Add(-r.Elapsed))
	}
}

// restore returns what the journal kept of the attempts of an ended job. The error says what of
// it is not known any more.
func (t *Table) restore(e *journal.Ended) (a *attempts, err error) {
	a = newAttempts(&e.Status)
	for i := range a.tasks {
		a.tasks[i].outcome = sched.Done
	}
	if len(e.Results) > 0 {
		err = t.restoreResults(a, e.Results)
	}
	if len(e.Earlier) > 0 {
		err = errors.Join(err, t.restoreEarlierAttempts(a, e.Earlier))
	}
	if len(e.Times) > 0 && err == nil {
		err = a.restoreTimes(e.Times)
	}
	if e.Status.State == api.StateCancelled && len(e.Results) > 0 && err == nil {
		a.withoutResult()
		t.restoreStopped(a, e)
	}
	return a, err
}

// withoutResult leaves the tasks of a cancelled job of the journal without a result when no node
// reported one: they were stopped, or waited.
func (a *attempts) withoutResult() {
	for i := range a.tasks {
		if task := &a.tasks[i]; task.node == 0 && !task.failed() {
			task.outcome = sched.Unfinished
		}
	}
}

// Reporter returns the node that reported the result of a task, or the end of a task whose job was
// cancelled, "" when no node did. ended is false while there is no result.
func (t *Table) Reporter(j *jobs.Job, task int) (node string, ended bool) {
	a := &t.jobs[j].tasks[task]
	return t.nodes.name(a.node), a.ended()
}

// Counted reports whether an attempt at a task can have had no slot in vain: its result is the
// accepted one, or the job had ended when this process began, and its task has not failed.
func (t *Table) Counted(j *jobs.Job, task, number int32) bool {
	a := &t.jobs[j].tasks[task]
	if a.ended() && (a.node != 0 && a.number == number || a.number == 0) {
		return true
	}
	return j.Former() && !a.failed()
}

// NodeOf returns which node ran an attempt at a task of a job that ended longer ago than jobs are
// kept in memory, 0 for the last attempt; "" when the journal does not know it.
func NodeOf(e *journal.Ended, task, number int) (string, error) {
	if task < 0 || task >= e.Status.Tasks {
		return "", nil
	}
	t := New(nil)
	a, err := t.restore(e)
	if node := t.ranEarlier(a, task, number); node != "" {
		return node, nil
	}
	return t.nodes.name(a.tasks[task].node), err
}

// ExplainFormer adds to an explanation what is known of the tasks of a job that ended longer ago than jobs are kept in
// memory: as in explanations of those in memory, the failed and stopped ones with the earlier attempts, and
// the completed ones. The error says that some of it cannot be read.
func ExplainFormer(e *journal.Ended, into *api.Explanation) error {
	t := New(nil)
	a, err := t.restore(e)
	into.Tasks, into.Completed, into.Failed = t.ended(a, true, Explained), t.completed(a, Explained), a.failedSet(e.Status.Failed)
	return err
}
