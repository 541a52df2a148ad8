package ledger

import (
	"math"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The places of tasks without a known group.
const (
	Nowhere int16 = -1 // no group holds the task
	Unknown int16 = -2 // a group or a worker may hold it, from an earlier life of the distributor
	// Throttled: no group or worker holds the task, since its job has its maximum there already.
	Throttled int16 = -3
)

// MaxMaster is the highest id of a master that can be a place.
const MaxMaster int32 = math.MaxInt16

// Task is the state of one task. It is small because there are many.
type Task struct {
	Attempt     int32 // the attempt that counts, from Job.First
	Place       int16 // id of the master that holds it, Nowhere, Unknown or Throttled
	Losses      uint8 // attempts lost, at any node; 255 for more
	Retried     uint8
	Outcome     sched.Outcome // Unfinished, Done, Failed, or Killed: no longer wanted
	Marks       sched.Marks   // Moved (from group to group, which happens once at most) and Apart count
	Unconfirmed bool          // from an earlier life, or of a group without a master, and no daemon has reported it since
	Waits       bool          // for the time of its next attempt, or because it is throttled: nothing was sent
}

// Job is an accepted job that has not ended.
type Job struct {
	ID            sched.JobID
	Key           uint64
	App           string
	Owner         string      // the owner for which it runs
	Priority      int32       // among the jobs of its owner
	Class         sched.Class // as declared, or as a task showed since
	Marks         sched.Marks // Stoppable and Restartable count
	Retries       uint8
	Estimate      sched.Time
	Arrival       sched.Time
	MaxDisconnect sched.Time // nodes that are cut off for this long stop its tasks; 0: never
	First         int32      // number of the first attempts; a lower one is of an earlier submission
	Tasks         []Task
	Unplaced      int32 // unfinished tasks that no group holds and that do not wait for their time
	Waiting       int32 // unfinished tasks that wait for the time of their next attempt, or are throttled
	Slots         int32 // of one node, that each task takes; 0 is one
	Gang          bool  // the tasks start together
	MaxRunning    int32 // at most this many tasks are with groups or workers; 0: no limit
	Held          bool  // the distributor keeps it for when a group comes

	unfinished int32
	failed     int32
	reason     string           // of the first failure
	throttled  int32            // tasks at the place Throttled
	released   int32            // no task below it is throttled
	apart      sched.Time       // throttled tasks wait until then: earlier attempts of them may run on nodes that are cut off
	turns      uint8            // how often its class has changed
	losses     map[int32][]loss // by task, of those that have some
	prev, next *Job             // order of arrival
}

// Unfinished returns how many tasks have no accepted result.
func (j *Job) Unfinished() int { return int(j.unfinished) }

// Failed returns how many tasks ended by failing.
func (j *Job) Failed() int { return int(j.failed) }

// Reason returns why the first failed task failed, "" when none did.
func (j *Job) Reason() string { return j.reason }

// Ledger holds the jobs of one distributor. The zero value is not ready; use NewLife.
type Ledger struct {
	life        int32 // the first number of this life of the distributor
	jobs        map[sched.JobID]*Job
	first, last *Job
	tasks       int    // unfinished, of all jobs
	repeated    uint64 // results that came again or too late
	lossWindow  sched.Time
	waits       waits
	now         sched.Time // of the step
}

// NewLife returns an empty ledger that numbers new attempts from first on, 0 is 1, and in
// which a loss counts for that long, 0 is [DefaultLossWindow].
func NewLife(first int32, lossWindow sched.Time) *Ledger {
	if lossWindow <= 0 {
		lossWindow = DefaultLossWindow
	}
	return &Ledger{life: max(1, first), jobs: make(map[sched.JobID]*Job), lossWindow: lossWindow}
}

// Job finds an unfinished job, nil when there is none.
func (l *Ledger) Job(id sched.JobID) *Job { return l.jobs[id] }

// Jobs returns the number of unfinished jobs.
func (l *Ledger) Jobs() int { return len(l.jobs) }

// Tasks returns the number of unfinished tasks.
func (l *Ledger) Tasks() int { return l.tasks }

// Repeated returns how many results came again, or for a task that had ended.
func (l *Ledger) Repeated() uint64 { return l.repeated }

// Owed returns the sums over all unfinished jobs.
func (l *Ledger) Owed() sched.Owed {
	return sched.Owed{Jobs: l.Jobs(), Tasks: l.tasks, Repeated: l.repeated}
}

// Each calls f for every unfinished job in order of arrival. f may end the job
// it is called with.
func (l *Ledger) Each(f func(*Job)) {
	for j := l.first; j != nil; {
		next := j.next
		f(j)
		j = next
	}
}

// Submit enters the job of a Submit message, with every task unplaced. A job
// that is known already returns nil: the message came twice. So does one without
// tasks, or with more than a job can have.
func (l *Ledger) Submit(now sched.Time, m *sched.Message) *Job {
	if l.jobs[m.Job] != nil || m.Count <= 0 || m.Count > sched.MaxTasks {
		return nil
	}
	j := &Job{
		ID: m.Job, Key: m.Key, App: m.App, Owner: m.Owner, Priority: m.Priority, Class: m.Class, Marks: m.Marks, Retries: m.Retries, Estimate: m.Estimate, MaxDisconnect: m.MaxDisconnect, MaxRunning: m.MaxRunning, Slots: m.Slots, Gang: m.Gang, Arrival: now,
		First: max(1, m.Attempt), Tasks: make([]Task, m.Count), Unplaced: m.Count, unfinished: m.Count, prev: l.last,
	}
	if j.Gang { // all its tasks run, or none
		j.MaxRunning = 0
	}
	for i := range j.Tasks {
		j.Tasks[i] = Task{Place: Nowhere, Attempt: j.First}
	}
	if !m.Resent { // those of an earlier life may be anywhere
		j.throttle(j.MaxRunning, m.Count)
	}
	if l.last != nil {
		l.last.next = j
	} else {
		l.first = j
	}
	l.last = j
	l.jobs[j.ID] = j
	l.tasks += int(m.Count)
	return j
}

// Place records that the group of the given master holds the task, or, with Unknown,
// that a daemon may hold it.
func (j *Job) Place(task int32, master int16) {
	t := &j.Tasks[task]
	if t.Outcome == sched.Unfinished && t.Place == Nowhere && !t.Waits {
		j.Unplaced--
	}
	t.Place = master
}

// Unplace records that no group holds the task.
func (j *Job) Unplace(task int32) {
	t := &j.Tasks[task]
	if t.Outcome == sched.Unfinished && t.Place != Nowhere && t.Place != Throttled {
		if !t.Waits {
			j.Unplaced++
		}
		t.Place = Nowhere
	}
}

// Has reports whether the task number exists in the job.
func (j *Job) Has(task int32) bool { return task >= 0 && int(task) < len(j.Tasks) }

// remove deletes an ended job.
func (l *Ledger) remove(j *Job) {
	if j.prev != nil {
		j.prev.next = j.next
	} else {
		l.first = j.next
	}
	if j.next != nil {
		j.next.prev = j.prev
	} else {
		l.last = j.prev
	}
	l.tasks -= int(j.unfinished)
	delete(l.jobs, j.ID)
}
