package application

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// level is one level of an application, and the jobs whose tasks are its grants. An
// application states totals, a job is submitted once: level makes the jobs match
// the totals.
//
//	wanted       = Total - Had
//	outstanding  = offered - (Had - base), at most the tasks that are live
//	bound        = live - outstanding: the application has them and keeps them
//
// When the numbers contradict each other (a grant reached the application and its
// end reports that it did not, or the other way round), the difference is resolved
// towards one grant too many: that one is declined, while one too few would be
// waited for without end.
type level struct {
	api.Level
	class       sched.Class
	classReason string // how the class was decided
	base        int64  // Had when this frontend first saw the level
	offered     int64  // tasks of its jobs, except those that did not reach the application
	jobs        []*levelJob
	since       time.Time // when the last grant reached the application, or the level first wanted one
	// lastReplaced is how long after since the waiting tasks were last placed again.
	lastReplaced time.Duration
}

// levelJob is a job of grants with tasks that have not ended.
type levelJob struct {
	key       string
	class     sched.Class
	tasks     int
	ended     int
	withdrawn int // their ends are not reported
}

func (j *levelJob) live() int64 { return int64(j.tasks - j.ended - j.withdrawn) }

// withdrawal cancels the last tasks of a job that have not ended, all of them when
// tasks is 0.
type withdrawal struct {
	key   string
	tasks int
}

// live returns how many tasks of the level's jobs have not ended.
func (l *level) live() (n int64) {
	for _, j := range l.jobs {
		n += j.live()
	}
	return n
}

func (l *level) wanted() int64 { return max(0, l.Total-l.Had) }

// outstanding returns how many tasks are outstanding, and corrects a count that cannot
// be true.
func (l *level) outstanding() int64 {
	n := l.offered - (l.Had - l.base)
	if fitting := min(max(0, n), l.live()); fitting != n {
		l.offered += fitting - n
		n = fitting
	}
	return n
}

// balance compares what is wanted with what is outstanding. It returns how many tasks
// have to be submitted, or which waiting ones have to be withdrawn, starting with the
// newest job; the others keep their places in the queue. Jobs of another class than
// the level now has are withdrawn whole.
func (l *level) balance() (missing int64, cuts []withdrawal) {
	outstanding := l.outstanding()
	waiting := l.waiting(outstanding)
	for i, j := range slices.Backward(l.jobs) {
		surplus := outstanding - l.wanted()
		cut := min(max(0, surplus), waiting[i])
		if j.class != l.class {
			cut = waiting[i]
		}
		if cut > 0 || j.class != l.class {
			cuts = append(cuts, l.withdraw(i, cut))
			outstanding -= cut
		}
	}
	return max(0, l.wanted()-l.outstanding()), cuts
}

// withdraw withdraws the given number of waiting tasks of job i. A job of another class
// than the level's, or that would keep no task, is withdrawn whole.
func (l *level) withdraw(i int, tasks int64) withdrawal {
	j := l.jobs[i]
	l.offered -= tasks
	if j.class != l.class || tasks == j.live() {
		l.jobs = slices.Delete(slices.Clone(l.jobs), i, i+1)
		return withdrawal{key: j.key}
	}
	j.withdrawn += int(tasks)
	return withdrawal{key: j.key, tasks: int(tasks)}
}

// overdue reports whether the level has waited for so long that its waiting tasks
// have to be placed again: they may wait in a group whose slots are taken for hours
// while another one has free slots. The interval doubles each time, so that a level
// keeps its place in a queue for at least half of its wait.
func (l *level) overdue(now time.Time) bool {
	waited := now.Sub(l.since)
	if l.wanted() == 0 || waited < max(replaceAfter, 2*l.lastReplaced) {
		return false
	}
	l.lastReplaced = waited
	return true
}

// withdrawWaiting withdraws all waiting tasks.
func (l *level) withdrawWaiting() (cuts []withdrawal) {
	waiting := l.waiting(l.outstanding())
	for i, n := range slices.Backward(waiting) {
		if n > 0 {
			cuts = append(cuts, l.withdraw(i, n))
		}
	}
	return cuts
}

// replaceAfter is how long a level waits without a grant before its waiting tasks
// are first placed again.
const replaceAfter = time.Second

// waiting divides the outstanding tasks among the jobs. The oldest jobs are served
// first, so the bound tasks are theirs.
func (l *level) waiting(outstanding int64) []int64 {
	bound := l.live() - outstanding
	list := make([]int64, len(l.jobs))
	for i, j := range l.jobs {
		own := min(bound, j.live())
		list[i] = j.live() - own
		bound -= own
	}
	return list
}

// submitted adds a job that was submitted.
func (l *level) submitted(j *levelJob) {
	l.jobs = append(l.jobs, j)
	l.offered += int64(j.tasks)
}

// taskEnded counts the end of a task of a job; missed means that, as far as is
// known, the grant did not reach the application.
func (l *level) taskEnded(key string, missed bool) {
	for i, j := range l.jobs {
		if j.key != key {
			continue
		}
		j.ended++
		if missed {
			l.offered--
		}
		if j.live() <= 0 {
			l.jobs = slices.Delete(slices.Clone(l.jobs), i, i+1)
		}
		return
	}
}
