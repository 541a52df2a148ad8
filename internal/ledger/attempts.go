package ledger

import (
	"fmt"
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Numbers of attempts. Each life of a distributor has its own, so that a number that an
// earlier life sent, and whose record did not reach the disk, is never made again
// (docs/adr/0017-attempt-identity.md).

// limit returns the last number that a task of the job can have in this life.
func (l *Ledger) limit(j *Job) int64 {
	return int64(max(l.life, j.First)) - 1 + int64(sched.AttemptsPerLife)
}

// possible reports whether an attempt of the job can have this number: a lower one is of
// an earlier submission of the same key, a higher one was never made.
func (l *Ledger) possible(j *Job, attempt int32) bool {
	return attempt >= j.First && int64(attempt) <= l.limit(j)
}

// next returns the number of the attempt after the one that counts; false when this life
// has none left.
func (l *Ledger) next(j *Job, t *Task) (int32, bool) {
	if number := int64(max(t.Attempt, l.life-1)) + 1; number <= min(l.limit(j), math.MaxInt32) {
		return int32(number), true //nolint:gosec // checked
	}
	return 0, false
}

// catchUp makes a later attempt the one that counts. Attempts are numbered
// here alone; one that is not known was numbered before the process died, and its
// record, for which nothing waited, was lost with it.
func (t *Task) catchUp(attempt int32) { t.Attempt = max(t.Attempt, attempt) }

// Confirm records that a daemon holds, or has run, an attempt of a task. It returns
// false when that is not the attempt that counts.
func (l *Ledger) Confirm(j *Job, task, attempt int32) bool {
	t := &j.Tasks[task]
	if t.Outcome != sched.Unfinished || t.Waits || attempt < t.Attempt || !l.possible(j, attempt) {
		return false
	}
	t.catchUp(attempt)
	t.Unconfirmed = false
	return true
}

// Unconfirm records that no unfinished task of the job has been reported yet; a daemon
// may hold those without a group nevertheless.
func (j *Job) Unconfirm() {
	for i := range j.Tasks {
		if t := &j.Tasks[i]; t.Outcome == sched.Unfinished {
			t.Unconfirmed = true
			if t.Place == Nowhere {
				j.Place(int32(i), Unknown)
			}
		}
	}
}

// Renumber begins a new attempt, with one record, of consecutive unfinished tasks that may or may
// not have been launched. The tasks are alike in attempt and in what counts against them
// ([Alike]). If the job limits its running tasks, no group holds them then, and they wait until
// the limit allows them.
func (l *Ledger) Renumber(j *Job, first, count int32, reason string, out *sched.Actions) Verdict {
	t := &j.Tasks[first]
	number, ok := l.next(j, t)
	if !ok {
		for i := first; i < first+count; i++ {
			l.exhausted(j, i, out)
		}
		return Accepted
	}
	v, r := Again, l.record(j, first, number, sched.Lost, reason, out)
	if count > 1 {
		r.Count = count
	}
	for i := first; i < first+count; i++ {
		j.Tasks[i].Attempt, j.Tasks[i].Unconfirmed = number, false
	}
	if j.MaxRunning > 0 {
		j.apart = l.now + j.separation()
		j.throttle(first, first+count)
		l.release(j, out)
		return Later
	}
	for i := first; i < first+count && j.MaxDisconnect > 0; i++ {
		v = l.again(l.now, j, i, j.separation(), out)
	}
	return v
}

// Alike reports whether one record, and one message, can carry new attempts of both
// tasks.
func Alike(a, b *Task) bool {
	return a.Attempt == b.Attempt && a.Marks == b.Marks && a.Losses == b.Losses && a.Retried == b.Retried
}

// newAttempt begins the next attempt of a task. A task that has used up the numbers of
// this life fails.
func (l *Ledger) newAttempt(j *Job, m *sched.Message, why sched.Outcome, out *sched.Actions) Verdict {
	t := &j.Tasks[m.First]
	number, ok := l.next(j, t)
	if !ok {
		l.exhausted(j, m.First, out)
		return Accepted
	}
	t.Attempt, t.Unconfirmed = number, false
	r := l.record(j, m.First, number, why, m.Reason, out)
	if why == sched.Lost && m.Losses <= 1 {
		r.Node = m.Node
	}
	if why == sched.Lost && m.Losses > 0 {
		r.Marks = sched.Apart
	}
	return Again
}

func (l *Ledger) record(j *Job, task, number int32, why sched.Outcome, reason string, out *sched.Actions) *sched.Message {
	t := &j.Tasks[task]
	r := out.Do(sched.Persist)
	r.Kind, r.Job, r.First, r.Attempt = sched.NewAttempt, j.ID, task, number
	r.Losses, r.Retries, r.Outcome, r.Reason = t.Losses, t.Retried, why, reason
	return r
}

func (l *Ledger) exhausted(j *Job, task int32, out *sched.Actions) {
	reason := fmt.Sprintf("task %d has used the limit of %d attempts that a task can have between two starts of its frontend", task, sched.AttemptsPerLife)
	l.end(j, task, j.Tasks[task].Attempt, sched.Failed, reason, out)
}
