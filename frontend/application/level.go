package application

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// level is what is known of one level of an application, and the jobs whose tasks
// are its grants. An application tells totals, jobs are given out once: level
// keeps the two in step.
//
//	wanted       = Total - Had
//	outstanding  = offered - (Had - base), at most the tasks that are live
//	bound        = live - outstanding: the application has them and they go on
//
// Where what is known does not fit together (a grant reached the application and
// its end says that it did not, or the other way round), the difference is
// settled to the side of one grant too many: that one comes back declined, while
// one too few would be waited for, for ever.
type level struct {
	api.Level
	class       sched.Class
	classReason string // who decided the class, and why
	base        int64  // Had when this frontend was first told of the level
	offered     int64  // tasks of its jobs, but for those known to have missed the application
	jobs        []*levelJob
	since       time.Time // of the last grant that reached the application, or of its first wish
	// lastReplaced is how long after since what waits was placed anew last.
	lastReplaced time.Duration
}

// levelJob is a job of grants with tasks that have not ended.
type levelJob struct {
	key       string
	class     sched.Class
	tasks     int
	ended     int
	withdrawn int // taken back; their ends are not told
}

func (j *levelJob) live() int64 { return int64(j.tasks - j.ended - j.withdrawn) }

// withdrawal takes back the last tasks of a job that have not ended, all of them when
// tasks is 0.
type withdrawal struct {
	key   string
	tasks int
}

// live is how many tasks of the level's jobs have not ended.
func (l *level) live() (n int64) {
	for _, j := range l.jobs {
		n += j.live()
	}
	return n
}

func (l *level) wanted() int64 { return max(0, l.Total-l.Had) }

// outstanding makes the count of what is outstanding one that can be, and gives it.
func (l *level) outstanding() int64 {
	n := l.offered - (l.Had - l.base)
	if fitting := min(max(0, n), l.live()); fitting != n {
		l.offered += fitting - n
		n = fitting
	}
	return n
}

// balance compares what is wanted with what is outstanding: so many tasks more are
// to be given out, or so many of those that wait are taken back, of the newest job
// first; what is left keeps its place in the queue. Jobs of another class than the
// level has now go whole.
func (l *level) balance() (more int64, cuts []withdrawal) {
	outstanding := l.outstanding()
	waiting := l.waiting(outstanding)
	for i, j := range slices.Backward(l.jobs) {
		surplus := outstanding - l.wanted()
		take := min(max(0, surplus), waiting[i])
		if j.class != l.class {
			take = waiting[i]
		}
		if take > 0 || j.class != l.class {
			cuts = append(cuts, l.withdraw(i, take))
			outstanding -= take
		}
	}
	return max(0, l.wanted()-l.outstanding()), cuts
}

// withdraw takes back so many waiting tasks of a job; one of another class than the
// level's, or of which nothing stays, goes whole.
func (l *level) withdraw(i int, tasks int64) withdrawal {
	j := l.jobs[i]
	l.offered -= tasks
	if j.class != l.class || tasks == j.live() {
		l.jobs = append(l.jobs[:i:i], l.jobs[i+1:]...)
		return withdrawal{key: j.key}
	}
	j.withdrawn += int(tasks)
	return withdrawal{key: j.key, tasks: int(tasks)}
}

// overdue reports whether the level has waited for so long that what waits is to be
// placed anew: it may wait in a group whose slots are taken for hours while another
// one has free slots. Each time the next one is as far away again, so that a level
// has its place in a queue for half of its wait at least.
func (l *level) overdue(now time.Time) bool {
	waited := now.Sub(l.since)
	if l.wanted() == 0 || waited < max(replaceAfter, 2*l.lastReplaced) {
		return false
	}
	l.lastReplaced = waited
	return true
}

// retract takes back all that waits.
func (l *level) retract() (cuts []withdrawal) {
	waiting := l.waiting(l.outstanding())
	for i, n := range slices.Backward(waiting) {
		if n > 0 {
			cuts = append(cuts, l.withdraw(i, n))
		}
	}
	return cuts
}

// replaceAfter is how long a level waits without a grant before what waits of it
// is first placed anew.
const replaceAfter = time.Second

// waiting divides what is outstanding among the jobs: the oldest are served first,
// so that what is bound is theirs.
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

// submitted takes note of a job that was given out.
func (l *level) submitted(j *levelJob) {
	l.jobs = append(l.jobs, j)
	l.offered += int64(j.tasks)
}

// taskEnded takes note that a task of a job has ended; missed says that the application
// has not had it, as far as is known.
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
			l.jobs = append(l.jobs[:i:i], l.jobs[i+1:]...)
		}
		return
	}
}
