package attempts

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
)

// earlierOfJob bounds the earlier attempts that are kept of a job; the oldest go first.
const earlierOfJob = 100

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
func (t *Table) addEarlier(a *attempts, e earlier, node string) {
	t.nodes.set(&e.node, node)
	if len(a.earlier) == earlierOfJob {
		t.nodes.release(a.earlier[0].node)
		a.earlier = slices.Delete(a.earlier, 0, 1)
	}
	a.earlier = append(a.earlier, e)
}

// counts removes an attempt from those that others followed: it was mistaken for lost, and its
// result is the one that was accepted.
func (t *Table) counts(a *attempts, task, number int32) {
	a.earlier = slices.DeleteFunc(a.earlier, func(e earlier) bool {
		same := e.task == task && e.attempt == number
		if same {
			t.nodes.release(e.node)
		}
		return same
	})
}

// retried adds the attempt of that number, which the one of a record follows. Programs of before
// recorded no more than the reason, and the node of a loss.
func (t *Table) retried(a *attempts, r *journal.Record, number int32) {
	t.addEarlier(a, earlier{
		task: r.First, attempt: number, reason: r.Reason, exit: int16(r.Exit), code: codeOf(r.Code), began: a.startAt(r.Began), elapsed: r.Elapsed, //nolint:gosec // 16 bits were written
	}, r.Node)
}

// RanEarlier returns the node of an attempt that was followed by another one, "" when it is not
// known.
func (t *Table) RanEarlier(j *jobs.Job, task, number int) string {
	return t.ranEarlier(t.jobs[j], task, number)
}

func (t *Table) ranEarlier(a *attempts, task, number int) string {
	for _, e := range a.earlier {
		if int(e.task) == task && int(e.attempt) == number {
			return t.nodes.name(e.node)
		}
	}
	return ""
}
