package ledger

import (
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// NextDue is the token of the timer that a ledger requests for the tasks that wait for
// their next attempt. At a Timeout with it a distributor calls [Ledger.Due] until that
// returns nil.
const NextDue uint64 = 1

// How long a task waits before its next attempt: none after the first loss, then 1, 2, 4
// ... 30 s; none after its first own failure, then 25 ms, 50 ms ... 10 s.
const (
	firstLossWait    = sched.Second
	longestLossWait  = 30 * sched.Second
	firstRetryWait   = 25 * sched.Millisecond
	longestRetryWait = 10 * sched.Second

	// disconnectMargin is added to the time for which nodes may be cut off: the node looks
	// once a heartbeat, killing takes a moment, and one that is alive asks every 5 s which of
	// its attempts are wanted.
	disconnectMargin = 10 * sched.Second
)

func afterLoss(losses uint8) sched.Time {
	if losses < 2 {
		return 0
	}
	return doubled(firstLossWait, int(losses)-2, longestLossWait)
}

func afterFailure(retried uint8) sched.Time {
	if retried < 2 {
		return 0
	}
	return doubled(firstRetryWait, int(retried)-2, longestRetryWait)
}

// doubled returns a length of time doubled the given number of times, up to a limit.
func doubled(t sched.Time, times int, limit sched.Time) sched.Time {
	for ; times > 0 && t < limit; times-- {
		t *= 2
	}
	return min(t, limit)
}

// spread returns a pause between half and three halves of one, another one for each task, so that
// tasks that were lost together do not meet again.
func spread(pause sched.Time, id sched.AttemptID) sched.Time {
	r := rand.New(rand.NewPCG(id.Job.Hi^uint64(id.Task), id.Job.Lo^uint64(id.Attempt))) //nolint:gosec // neither is negative
	return pause/2 + sched.Time(r.Int64N(int64(pause)+1))
}

// wait is a task that waits for its next attempt.
type wait struct {
	due  sched.Time
	job  sched.JobID
	task int32
}

// before orders waits by the instant at which they end, and equal ones as a total order.
func (a *wait) before(b *wait) bool {
	switch {
	case a.due != b.due:
		return a.due < b.due
	case a.job != b.job:
		return a.job.Hi < b.job.Hi || (a.job.Hi == b.job.Hi && a.job.Lo < b.job.Lo)
	default:
		return a.task < b.task
	}
}

// waits are the tasks that wait for their next attempt: a heap, the earliest first. A
// task that ended meanwhile stays in it until its time.
type waits struct {
	heap  []wait
	timer sched.Time // when the earliest timer is due, 0 without one
}

// again returns the verdict for a new attempt that may be sent after a delay.
func (l *Ledger) again(now sched.Time, j *Job, task int32, delay sched.Time, out *sched.Actions) Verdict {
	if delay <= 0 {
		return Again
	}
	t := &j.Tasks[task]
	if !t.Waits {
		t.Waits = true
		j.Waiting++
		if t.Place == Nowhere {
			j.Unplaced--
		}
	}
	l.waits.push(wait{now + delay, j.ID, task})
	l.waits.arm(out)
	return Later
}

// At sets the instant of the step that follows, for new attempts that are not due to a
// message about the one before.
func (l *Ledger) At(now sched.Time) { l.now = now }

// separation is how long a new attempt of a task waits when the one before may still run
// on a node that is cut off: until that has stopped it, for jobs that ask for at most one
// live copy.
func (j *Job) separation() sched.Time {
	if j.MaxDisconnect <= 0 {
		return 0
	}
	return j.MaxDisconnect + disconnectMargin
}

// Due returns the next task whose wait is over, nil when there is none. Its attempt must
// be sent.
func (l *Ledger) Due(now sched.Time, out *sched.Actions) (*Job, int32) {
	w := &l.waits
	if now >= w.timer {
		w.timer = 0
	}
	for len(w.heap) > 0 && w.heap[0].due <= now {
		next := w.pop()
		if j := l.jobs[next.job]; j != nil && j.awaits(&next) {
			j.wake(next.task)
			return j, next.task
		}
	}
	w.arm(out)
	return nil, 0
}

// awaits reports whether the task still waits for that.
func (j *Job) awaits(w *wait) bool {
	return j.Has(w.task) && j.Tasks[w.task].Waits && j.Tasks[w.task].Place != Throttled && j.Tasks[w.task].Outcome == sched.Unfinished
}

// wake ends the wait of a task.
func (j *Job) wake(task int32) {
	t := &j.Tasks[task]
	t.Waits = false
	j.Waiting--
	if t.Place == Nowhere {
		j.Unplaced++
	}
}

// NextAttempt returns how many tasks of the job wait for the time of their next attempt, the
// first such time, and its task.
func (l *Ledger) NextAttempt(j *Job) (waiting int, at sched.Time, task int32) {
	if j.Waiting == j.throttled {
		return 0, 0, 0
	}
	var first *wait
	for i := range l.waits.heap {
		if w := &l.waits.heap[i]; w.job == j.ID && j.awaits(w) && (first == nil || w.before(first)) {
			first = w
		}
	}
	return int(j.Waiting - j.throttled), first.due, first.task // each that waits is in the heap
}

// arm requests a timer for the earliest wait.
func (w *waits) arm(out *sched.Actions) {
	if len(w.heap) == 0 || (w.timer > 0 && w.timer <= w.heap[0].due) {
		return
	}
	w.timer = w.heap[0].due
	out.Timer(w.timer, NextDue)
}

func (w *waits) push(x wait) {
	w.heap = append(w.heap, x)
	for i := len(w.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !w.heap[i].before(&w.heap[up]) {
			return
		}
		w.heap[i], w.heap[up] = w.heap[up], w.heap[i]
		i = up
	}
}

func (w *waits) pop() wait {
	top, last := w.heap[0], len(w.heap)-1
	w.heap[0] = w.heap[last]
	if w.heap = w.heap[:last]; last == 0 {
		w.heap = nil
	}
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if w.heap[c].before(&w.heap[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		w.heap[i], w.heap[least] = w.heap[least], w.heap[i]
		i = least
	}
}
