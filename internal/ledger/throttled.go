package ledger

import "github.com/pigeon-sched/pigeon/internal/sched"

// A job may limit how many of its tasks are with groups or workers at a time, as the %N of an
// array of Slurm does. The others are throttled: each is released when one that was not throttled
// has ended. A task that waits for the time of its next attempt is not throttled.

// throttle throttles the unfinished tasks from first to below end, of a job with a limit. None of
// them is with a group or a worker.
func (j *Job) throttle(first, end int32) {
	if j.MaxRunning <= 0 {
		return
	}
	for i := first; i < end; i++ {
		t := &j.Tasks[i]
		switch {
		case t.Outcome != sched.Unfinished || t.Place == Throttled:
			continue
		case !t.Waits:
			j.Waiting++
			if t.Place == Nowhere {
				j.Unplaced--
			}
		}
		t.Place, t.Waits = Throttled, true
		j.throttled++
		j.released = min(j.released, i)
	}
}

// release releases as many throttled tasks of a job as its limit allows: they are due at once, or when
// no earlier attempt of them can run any more.
func (l *Ledger) release(j *Job, out *sched.Actions) {
	for j.throttled > 0 && j.unfinished-j.throttled < j.MaxRunning {
		for j.Tasks[j.released].Place != Throttled || j.Tasks[j.released].Outcome != sched.Unfinished {
			j.released++
		}
		j.Tasks[j.released].Place = Nowhere
		j.throttled--
		l.waits.push(wait{max(l.now+1, j.apart), j.ID, j.released}) // a timer is for later
		l.waits.arm(out)
	}
}

// Throttled returns how many tasks of the job wait for others of it to end.
func (j *Job) Throttled() int { return int(j.throttled) }
