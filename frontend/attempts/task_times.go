package attempts

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The journal keeps the times of the attempts of an ended job, so that a frontend shows the same
// after a restart as before it:
//
//	the completed tasks: how many, then for each the distance from the one before, its attempt,
//	its start time and microseconds
//	the failed tasks that results has, in their order: how many, then the start time of each
//	the earlier attempts that are kept, likewise
//
// These are the attempts that an explanation shows, at most a kilobyte for a job of any size. In
// memory the times are fields of each task's report. Numbers are encoded as in results.

// timed calls visit with the completed tasks of a job of which it is known when they ran, at
// most most of them, in their order.
func (a *attempts) timed(most int, visit func(task int, r *attempt)) {
	for i := range a.tasks {
		if r := &a.tasks[i]; most > 0 && r.outcome == sched.Done && r.began != unknownStart {
			visit(i, r)
			most--
		}
	}
}

// times returns what is kept, nil when no time is known.
func (a *attempts) times() []byte {
	var completed, failed, before []byte
	counts, last := [3]uint64{}, 0
	a.timed(Explained, func(task int, r *attempt) {
		counts[0]++
		for _, n := range [...]uint64{uint64(task - last), uint64(r.number), uint64(r.began), uint64(max(r.elapsed, 0).Microseconds())} { //nolint:gosec // not negative
			completed = binary.AppendUvarint(completed, n)
		}
		last = task
	})
	known := counts[0] > 0
	if len(a.tasks) <= resultTasks {
		for i := range a.tasks {
			if r := &a.tasks[i]; r.failed() && counts[1] < resultFailures {
				counts[1]++
				failed, known = binary.AppendUvarint(failed, uint64(r.began)), known || r.began != unknownStart
			}
		}
	}
	for _, e := range a.earlier[max(0, len(a.earlier)-keptEarlier):] {
		counts[2]++
		before, known = binary.AppendUvarint(before, uint64(e.began)), known || e.began != unknownStart
	}
	if !known {
		return nil
	}
	b := append(binary.AppendUvarint(nil, counts[0]), completed...)
	b = append(binary.AppendUvarint(b, counts[1]), failed...)
	return append(binary.AppendUvarint(b, counts[2]), before...)
}

var errTimes = errors.New("what the journal kept of when its tasks ran cannot be read")

// restoreTimes applies what was kept. It follows restoreResults and
// restoreEarlierAttempts, whose attempts it is of. After an error nothing is known.
func (a *attempts) restoreTimes(kept []byte) error {
	if len(a.tasks) == 0 {
		return errTimes
	}
	r := resultReader{in: kept}
	completed := map[int]attempt{}
	task := uint64(0)
	for range r.number(Explained) {
		task += r.number(uint64(len(a.tasks)-1) - task)                                                                                                                   //nolint:gosec // at least one, and task is below
		completed[int(task)] = attempt{number: int32(r.number(math.MaxInt32)), began: r.start(), elapsed: time.Duration(r.number(math.MaxInt64/1000)) * time.Microsecond} //nolint:gosec // bounded
	}
	failed := r.starts(resultFailures)
	before := r.starts(keptEarlier)
	if r.bad || len(r.in) > 0 || len(before) != len(a.earlier) {
		return errTimes
	}
	for task, c := range completed { // each of its own
		at := &a.tasks[task]
		at.number, at.began, at.elapsed = c.number, c.began, c.elapsed
	}
	for i := range a.tasks {
		if len(failed) > 0 && a.tasks[i].failed() {
			a.tasks[i].began, failed = failed[0], failed[1:]
		}
	}
	for i := range before {
		a.earlier[i].began = before[i]
	}
	return nil
}

func (r *resultReader) start() startTime { return startTime(r.number(math.MaxUint32)) } //nolint:gosec // bounded

// starts returns start times, at most most.
func (r *resultReader) starts(most uint64) []startTime {
	list := make([]startTime, r.number(most))
	for i := range list {
		list[i] = r.start()
	}
	return list
}

// launched records that an attempt is launched now at a worker that has asked for it, which is
// when it begins. Its report, which has the time by the clock of its node, replaces that.
func (a *attempts) launched(i int32) {
	if task := &a.tasks[i]; !task.ended() {
		task.began = a.startTime(time.Now())
	}
}

// addLaunchTimes adds to tasks that this frontend launched, and that run, when they began.
func (a *attempts) addLaunchTimes(j *jobs.Job, tasks []api.TaskStatus) {
	now := float64(time.Now().UnixNano()) / 1e9
	for i := range tasks {
		t := &tasks[i]
		if task := &a.tasks[t.Task]; !task.ended() && task.began != unknownStart && t.Attempt == int(j.Attempt(int32(t.Task))) { //nolint:gosec // a task of the job
			t.Started = task.began.unix(a)
			t.Seconds = max(0, now-t.Started)
		}
	}
}
