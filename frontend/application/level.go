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
//	outstanding  = offered - (Had - base), at most the tasks that have not ended
//
// Where what is known does not fit together (a grant reached the application and
// its end says that it did not, or the other way round), the difference is
// settled to the side of one grant too many: that one comes back declined, while
// one too few would be waited for, for ever.
type level struct {
	api.Level
	class   sched.Class
	whence  string // who decided the class, and why
	base    int64  // Had when this frontend was first told of the level
	offered int64  // tasks of its jobs, but for those known to have missed the application
	jobs    []*levelJob
	since   time.Time // of the last grant that reached the application, or of its first wish
}

// levelJob is a job of grants with tasks that have not ended.
type levelJob struct {
	key   string
	class sched.Class
	tasks int
	ended int
}

func (j *levelJob) live() int64 { return int64(j.tasks - j.ended) }

// live is how many tasks of the level's jobs have not ended.
func (l *level) live() (n int64) {
	for _, j := range l.jobs {
		n += j.live()
	}
	return n
}

func (l *level) wanted() int64 { return max(0, l.Total-l.Had) }

// settle makes the count of what is outstanding one that can be, and gives it.
func (l *level) settle() int64 {
	n := l.offered - (l.Had - l.base)
	if fitting := min(max(0, n), l.live()); fitting != n {
		l.offered += fitting - n
		n = fitting
	}
	return n
}

// balance compares what is wanted with what is outstanding: so many tasks more are
// to be given out, or these jobs are to be cancelled, whole and the newest first,
// as long as enough stays. Jobs of another class than the level has now go too.
// They are taken out of the level.
func (l *level) balance() (more int64, cancel []*levelJob) {
	outstanding := l.settle()
	for i, j := range slices.Backward(l.jobs) {
		if j.class == l.class && outstanding-j.live() < l.wanted() {
			continue
		}
		l.jobs = append(l.jobs[:i:i], l.jobs[i+1:]...)
		l.offered -= j.live()
		cancel = append(cancel, j)
		outstanding = l.settle()
	}
	return max(0, l.wanted()-outstanding), cancel
}

// give takes note of a job that was given out.
func (l *level) give(j *levelJob) {
	l.jobs = append(l.jobs, j)
	l.offered += int64(j.tasks)
}

// end takes note that a task of a job has ended; missed says that the application
// has not had it, as far as is known.
func (l *level) end(key string, missed bool) {
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
