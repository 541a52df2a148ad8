package probing

import (
	"fmt"
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/ledger"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The workers of tasks that are bound to none that is known.
const (
	noWorker = -1 // the task is unbound
	inDoubt  = -2 // it is of an earlier life, and a worker may have it
)

// Job is a job in the ledger and where its tasks are.
type Job struct {
	*ledger.Job
	rand    *rand.Rand // its draws
	bound   []int32    // the worker of each task, noWorker or inDoubt
	next    int32      // no task below is unbound
	unbound int32      // unfinished tasks that are bound to no worker and do not wait for their time
	waiting bool       // to be probed for when there are workers
	probed  []int32    // workers with a reservation, if reservations are withdrawn
}

func newJob(entry *ledger.Job, r *rand.Rand) *Job {
	j := &Job{Job: entry, rand: r, bound: make([]int32, len(entry.Tasks)), unbound: int32(entry.Unfinished()) - entry.Waiting}
	for i := range j.bound {
		j.bound[i] = noWorker
	}
	return j
}

// Unbound returns how many tasks still wait for a worker to ask.
func (j *Job) Unbound() int32 { return j.unbound }

// Draw returns a number from 0 to below n from the job's own source.
func (j *Job) Draw(n int) int { return j.rand.IntN(n) }

func (j *Job) isUnbound(task int32) bool {
	return j.bound[task] == noWorker && j.Tasks[task].Outcome == sched.Unfinished && !j.Tasks[task].Waits
}

// bind binds the first unbound task (there must be one) to the worker, and returns it.
func (j *Job) bind(worker int32) int32 {
	for !j.isUnbound(j.next) {
		j.next++
	}
	task := j.next
	j.bound[task] = worker
	j.unbound--
	return task
}

// unbind makes an unfinished task unbound again.
func (j *Job) unbind(task int32) {
	if j.bound[task] != noWorker {
		j.bound[task] = noWorker
		j.unbound++
		j.next = min(j.next, task)
	}
}

// postpone records that a task whose wait has begun is bound to no worker.
func (j *Job) postpone(task int32) {
	if j.bound[task] == noWorker {
		j.unbound--
	}
	j.bound[task] = noWorker
}

// release makes a task unbound whose wait is over.
func (j *Job) release(task int32) {
	j.unbound++
	j.next = min(j.next, task)
}

// end records that the task has ended; it may be unbound, when an earlier attempt
// ended it.
func (j *Job) end(task int32) {
	if j.bound[task] == noWorker && !j.Tasks[task].Waits {
		j.unbound--
	}
	j.bound[task] = noWorker
}

func (j *Job) valid() error {
	var unbound int32
	for i := range j.bound {
		if !j.isUnbound(int32(i)) {
			continue
		}
		unbound++
		if int32(i) < j.next {
			return fmt.Errorf("job %s: task %d is unbound, and the next unbound one is recorded as %d", j.ID, i, j.next)
		}
	}
	if unbound != j.unbound {
		return fmt.Errorf("job %s: %d tasks are unbound, counted as %d", j.ID, unbound, j.unbound)
	}
	return nil
}
