package jobs

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What the journal keeps of the attempts of an ended job that others followed, so that their
// outputs and reasons are found after a restart of the frontend: how many, then for each its task,
// attempt, node, exit status (signed), nanoseconds, code and reason. Texts are as in results.

// Bounds of what is kept of a job: the last of its earlier attempts, and the first bytes of their
// reasons.
const (
	keptEarlier     = 20
	keptReasonBytes = 1000
)

// earlierAttempts returns what is kept of a job's earlier attempts, nil for none.
func (t *records) earlierAttempts(j *Job) []byte {
	list := j.earlier[max(0, len(j.earlier)-keptEarlier):]
	if len(list) == 0 {
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for i := range list {
		e := &list[i]
		b = binary.AppendUvarint(b, uint64(e.task))    //nolint:gosec // not negative
		b = binary.AppendUvarint(b, uint64(e.attempt)) //nolint:gosec // not negative
		b = appendName(b, t.nodes.name(e.node))
		b = binary.AppendVarint(b, int64(e.exit))
		b = binary.AppendUvarint(b, uint64(max(e.elapsed, 0))) //nolint:gosec // not negative
		b = binary.AppendUvarint(b, uint64(e.code))
		b = appendName(b, api.Clip(e.reason, keptReasonBytes))
	}
	return b
}

func appendName(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errEarlier = errors.New("what the journal kept of its earlier attempts cannot be read")

// restoreEarlierAttempts enters what was kept.
func (t *records) restoreEarlierAttempts(j *Job, kept []byte) error {
	r := resultReader{in: kept}
	list := make([]earlier, r.number(keptEarlier))
	nodes := make([]string, len(list))
	for i := range list {
		e := &list[i]
		e.task, e.attempt = int32(r.number(uint64(max(len(j.reports)-1, 0)))), int32(r.number(math.MaxInt32)) //nolint:gosec // bounded
		nodes[i] = r.text()
		e.exit, e.elapsed = int16(r.signed()), time.Duration(r.number(math.MaxInt64)) //nolint:gosec // 16 bits were written
		e.code = code(r.number(math.MaxUint8))                                        //nolint:gosec // bounded
		e.reason = r.text()
	}
	if r.bad || len(r.in) > 0 {
		return errEarlier
	}
	for i := range list {
		t.nodes.set(&list[i].node, nodes[i])
	}
	j.earlier = list
	return nil
}

// restoreEnd enters what the journal kept of the attempts of an ended job.
func (t *records) restoreEnd(j *Job, e *journal.Ended) (err error) {
	if len(e.Results) > 0 {
		err = t.restoreResults(j, e.Results)
	}
	if len(e.Earlier) > 0 {
		err = errors.Join(err, t.restoreEarlierAttempts(j, e.Earlier))
	}
	if len(e.Times) > 0 && err == nil {
		err = j.restoreTaskTimes(e.Times)
	}
	if e.Status.State == api.StateCancelled && len(e.Results) > 0 && err == nil {
		j.withoutResult()
		t.restoreStopped(j, e)
	}
	return err
}

// formerJob returns an ended job of the journal, before restoreEnd.
func formerJob(e *journal.Ended) *Job {
	j := &Job{ID: e.Job, Status: e.Status, Durable: true, Ended: true, former: true, fingerprint: e.Fingerprint, reports: make([]taskReport, e.Status.Tasks)}
	j.final = &j.Status
	for i := range j.reports {
		j.reports[i].outcome = sched.Done
	}
	return j
}

// ExplainFormer adds to an explanation what is known of the tasks of a job that ended longer ago than jobs are kept in
// memory: as in explanations of those in memory, the failed and stopped ones with the earlier attempts, and
// the completed ones. The error says that some of it cannot be read.
func ExplainFormer(e *journal.Ended, into *api.Explanation) error {
	t := records{nodes: newNodeNames()}
	j := formerJob(e)
	err := t.restoreEnd(j, e)
	into.Tasks, into.Completed, into.Failed = t.EndedTasks(j, ExplainedTasks), t.CompletedTasks(j, ExplainedTasks), j.FailedSet()
	return err
}

// NodeOf returns which node ran an attempt at a task of a job that ended longer ago than jobs are
// kept in memory, 0 for the last attempt; "" when the journal does not know it.
func NodeOf(e *journal.Ended, task, attempt int) (string, error) {
	if task < 0 || task >= e.Status.Tasks {
		return "", nil
	}
	t := records{nodes: newNodeNames()}
	j := formerJob(e)
	err := t.restoreEnd(j, e)
	if node := t.RanEarlier(j, task, attempt); node != "" {
		return node, nil
	}
	return t.nodes.name(j.reports[task].node), err
}
