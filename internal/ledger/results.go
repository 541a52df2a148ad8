package ledger

import "github.com/pigeon-sched/pigeon/internal/sched"

// Verdict is what a result or a loss came to.
type Verdict uint8

// The verdicts.
const (
	Ignored  Verdict = iota // repeated, late, or about an unknown task
	Accepted                // the task ended; so did its job when Ledger.Job is nil now
	Again                   // the task has a new attempt, which the caller must place
	Later                   // the same, and the caller must not place it before Due returns it
)

// Report records the end of an attempt (a Report message): Done and Failed end the
// task, unless it has retries left; Killed and Lost count as a loss; Yielded is not
// counted and the task is tried again. The first Done of any attempt counts; a failure
// counts only from the attempt that counts. A node that reports an attempt that was
// counted lost is alive.
func (l *Ledger) Report(now sched.Time, m *sched.Message, out *sched.Actions) (*Job, Verdict) {
	j := l.jobs[m.Job]
	if j == nil || !j.Has(m.First) || !l.possible(j, m.Attempt) || j.Tasks[m.First].Outcome != sched.Unfinished {
		l.repeated++
		return j, Ignored
	}
	t := &j.Tasks[m.First]
	t.catchUp(m.Attempt)
	switch {
	case m.Outcome == sched.Done:
		l.end(j, m.First, m.Attempt, sched.Done, m.Reason, out)
		return j, Accepted
	case t.Attempt != m.Attempt || t.Waits:
		if m.Outcome != sched.Lost { // a loss that is reported again is still one
			l.Alive(m.AttemptID(), out)
		}
		l.repeated++
		return j, Ignored
	case m.Outcome == sched.Yielded:
		return j, l.newAttempt(j, m, sched.Yielded, out)
	case m.Outcome != sched.Failed:
		return j, l.lose(now, j, m, out)
	case t.Retried < j.Retries:
		t.Retried++
		if v := l.newAttempt(j, m, sched.Failed, out); v != Again {
			return j, v
		}
		return j, l.again(now, j, m.First, afterFailure(t.Retried), out)
	default:
		l.end(j, m.First, m.Attempt, sched.Failed, m.Reason, out)
		return j, Accepted
	}
}

// Lost records the loss of an attempt (an AttemptLost message): the next attempt
// is due, or, with the last of MaxLosses nodes, the task has failed with that reason.
// An attempt that a node gave back in order was not lost.
func (l *Ledger) Lost(now sched.Time, m *sched.Message, out *sched.Actions) (*Job, Verdict) {
	j := l.jobs[m.Job]
	if j == nil || !j.Has(m.First) {
		return nil, Ignored
	}
	t := &j.Tasks[m.First]
	if t.Outcome != sched.Unfinished || !l.possible(j, m.Attempt) {
		return j, Ignored
	}
	if t.catchUp(m.Attempt); t.Attempt != m.Attempt || t.Waits {
		return j, Ignored
	}
	if m.Outcome == sched.Yielded {
		if v := l.newAttempt(j, m, sched.Yielded, out); v != Again {
			return j, v
		}
		return j, l.again(now, j, m.First, j.separation(), out)
	}
	return j, l.lose(now, j, m, out)
}

// Return takes back a task that its group never launched (Returned): it is
// unplaced. It returns false for one that is held elsewhere or has a later attempt.
func (l *Ledger) Return(j *Job, task, attempt int32, master int16) bool {
	if !l.Recall(j, task, attempt, master) {
		return false
	}
	j.Unplace(task)
	return true
}

// Recall reports whether the group holds the task with this attempt, which then counts,
// and leaves it there.
func (l *Ledger) Recall(j *Job, task, attempt int32, master int16) bool {
	t := &j.Tasks[task]
	if t.Outcome != sched.Unfinished || t.Place != master || attempt < t.Attempt || t.Waits || !l.possible(j, attempt) {
		return false
	}
	t.catchUp(attempt)
	t.Unconfirmed = false
	return true
}

func (l *Ledger) end(j *Job, task, attempt int32, o sched.Outcome, reason string, out *sched.Actions) {
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.First, r.Attempt, r.Outcome, r.Reason = sched.TaskEnded, j.ID, task, attempt, o, reason
	l.applyResult(j, task, o, reason)
	if l.release(j, out); j.unfinished == 0 {
		l.close(j, out)
	}
}

// applyResult records a task's accepted result.
func (l *Ledger) applyResult(j *Job, task int32, o sched.Outcome, reason string) {
	t := &j.Tasks[task]
	switch {
	case t.Waits:
		if j.Waiting--; t.Place == Throttled {
			t.Place = Nowhere
			j.throttled--
		}
	case t.Place == Nowhere:
		j.Unplaced--
	}
	t.Outcome = o
	j.unfinished--
	l.tasks--
	if o == sched.Failed {
		if j.failed == 0 {
			j.reason = reason
		}
		j.failed++
	}
}

// close ends a job all of whose tasks have ended.
func (l *Ledger) close(j *Job, out *sched.Actions) {
	o := sched.Done
	if j.failed > 0 {
		o = sched.Failed
	}
	l.endJob(j, o, j.reason, out)
}

func (l *Ledger) endJob(j *Job, o sched.Outcome, reason string, out *sched.Actions) {
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.Outcome, r.Reason = sched.JobEnded, j.ID, o, reason
	out.Do(sched.Forget).Job = j.ID
	l.remove(j)
}

// Cancel ends a job at once; the caller drops its running tasks.
func (l *Ledger) Cancel(j *Job, reason string, out *sched.Actions) {
	l.endJob(j, sched.Killed, reason, out)
}

// CancelTask ends a task that is no longer wanted; its job continues with the others,
// and ends as if it had never had this one. The caller drops its running
// tasks.
func (l *Ledger) CancelTask(j *Job, task int32, reason string, out *sched.Actions) {
	if t := &j.Tasks[task]; t.Outcome == sched.Unfinished {
		l.end(j, task, t.Attempt, sched.Killed, reason, out)
	}
}
