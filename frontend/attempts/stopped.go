package attempts

import (
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
)

// keptStopped bounds the records of a job about tasks that were stopped. A job of more than resultTasks
// tasks has none.
const keptStopped = 1000

// stop records where a task of a cancelled job ran, by the report of its end, and has the journal keep
// it: its outputs and files are there. That is known once the core has ended the job: a task may end,
// and its node report it, before the cancel is on the disk.
func (t *Table) stop(a *attempts, c *jobs.Change) {
	m, report := &c.Report.Msg, c.Report
	task := &a.tasks[m.First]
	if c.Job.Final == nil || task.ended() || m.Attempt < task.number || m.Attempt == task.number && task.node != 0 { // the last: known
		return
	}
	t.nodes.set(&task.node, report.From.Name)
	task.number, task.elapsed, task.began = m.Attempt, report.Elapsed, a.startOf(report)
	if len(a.tasks) > resultTasks || a.stopped >= keptStopped {
		return
	}
	a.stopped++
	*c.Record = journal.Record{Kind: journal.Stopped, Job: c.Job.ID, First: m.First, Attempt: m.Attempt, Node: report.From.Name, Elapsed: report.Elapsed}
	if !report.Started.IsZero() {
		c.Record.Began = report.Started.UnixNano()
	}
}

// restoreStopped enters where the tasks of a cancelled job were stopped, as far as the journal knows.
func (t *Table) restoreStopped(a *attempts, e *journal.Ended) {
	for i := range e.Stopped {
		s := &e.Stopped[i]
		if int(s.Task) >= len(a.tasks) || a.tasks[s.Task].ended() {
			continue
		}
		task := &a.tasks[s.Task]
		t.nodes.set(&task.node, s.Node)
		task.number, task.elapsed, task.began = s.Attempt, s.Elapsed, a.startAt(s.Began)
		a.stopped++
	}
}
