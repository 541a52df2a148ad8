package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// hooks are called by a master at the points of its decisions that a variant may
// change. The paper's policy has [overruns]; pigeon-sort and pigeon-x have an [extension].
// A hook neither keeps nor changes its arguments, unless its comment says so.
type hooks interface {
	jobHooks
	placementHooks
	workerHooks
	groupHooks
}

// jobHooks follow the jobs whose tasks the master holds.
type jobHooks interface {
	jobAdded(j *queue.Job, arrival sched.Time, total int32)
	// jobRepeated is called when the distributor sends tasks of a known job.
	jobRepeated(j *queue.Job, arrival sched.Time, total int32, marks sched.Marks)
	// jobDropped is called when count tasks of the job, from first on, are unwanted.
	jobDropped(j *queue.Job, first, count int32, out *sched.Actions)
	jobForgotten(j *queue.Job)
	// jobReclassed is called when the job has got another class.
	jobReclassed(j *queue.Job)
	// suspended returns how many tasks of the job are suspended here; eachSuspended
	// calls f for them.
	suspended(j *queue.Job) int32
	eachSuspended(j *queue.Job, f func(task, attempt int32))
}

// placementHooks change where arriving tasks go.
type placementHooks interface {
	// isTrial reports whether the job's first task is tried as a short one.
	isTrial(j *queue.Job, marks sched.Marks) bool
	// asShort returns how many of count more tasks of a short job are served as short
	// ones; the others are served as long ones.
	asShort(j *queue.Job, count int32) int32
	// placeElsewhere places some of the count tasks from x on, for which no worker is idle,
	// and returns those that must be queued.
	placeElsewhere(x work, count int32, out *sched.Actions) (rest work, left int32)
}

// workerHooks follow what workers do.
type workerHooks interface {
	// started is called when the worker has been sent a task, or has registered with
	// one; released when it no longer runs its task of the job.
	started(w *worker, out *sched.Actions)
	released(w *worker, j *queue.Job)
	// idleNotice is called before an idle notice is processed: the attempt id has left
	// the worker, those in kept are suspended there. It reports whether the
	// worker's task is unaffected.
	idleNotice(w *worker, id sched.AttemptID, kept []sched.AttemptID, out *sched.Actions) (done bool)
	// continues makes a free worker continue a suspended task, if that comes before
	// the next queued one.
	continues(w *worker, next *queue.Run, out *sched.Actions) bool
	// becameIdle is called when nothing waits for a free worker.
	becameIdle(w *worker, out *sched.Actions)
	// takeRefused returns the suspended task whose launch the worker refused, in that state
	// of its slot.
	takeRefused(w *worker, id sched.AttemptID, seq uint64) (x work, ok bool)
	// preemptRefused is called when the task of a refused launch has been placed.
	preemptRefused(w *worker, out *sched.Actions)
	// mayAdopt reports whether a registering worker should be recorded as holding another
	// attempt, suspended; adopt records it.
	mayAdopt(w *worker, id sched.AttemptID) bool
	adopt(w *worker, x work)
	// lost is called when the worker is lost, after its task.
	lost(w *worker, m *sched.Message, out *sched.Actions)
}

// groupHooks follow the other masters, and the time.
type groupHooks interface {
	// stepBegins is called at the beginning of each step.
	stepBegins(now sched.Time)
	timeout(token uint64, out *sched.Actions)
	masterChanged(master sched.Addr, up bool)
	// spareElsewhere is called when another master has an idle worker.
	spareElsewhere(master sched.Addr, serves []string, reserved bool, out *sched.Actions)
	// tasksFrom is called when tasks have arrived from the group of another master;
	// accepted is set unless they were returned for lack of room.
	tasksFrom(master sched.Addr, accepted bool, out *sched.Actions)
	valid() error
}

// noHooks change nothing.
type noHooks struct{}

func (noHooks) jobAdded(*queue.Job, sched.Time, int32)                    {}
func (noHooks) jobRepeated(*queue.Job, sched.Time, int32, sched.Marks)    {}
func (noHooks) jobDropped(*queue.Job, int32, int32, *sched.Actions)       {}
func (noHooks) jobForgotten(*queue.Job)                                   {}
func (noHooks) jobReclassed(*queue.Job)                                   {}
func (noHooks) suspended(*queue.Job) int32                                { return 0 }
func (noHooks) eachSuspended(*queue.Job, func(task, attempt int32))       {}
func (noHooks) isTrial(*queue.Job, sched.Marks) bool                      { return false }
func (noHooks) started(*worker, *sched.Actions)                           {}
func (noHooks) released(*worker, *queue.Job)                              {}
func (noHooks) continues(*worker, *queue.Run, *sched.Actions) bool        { return false }
func (noHooks) becameIdle(*worker, *sched.Actions)                        {}
func (noHooks) takeRefused(*worker, sched.AttemptID, uint64) (work, bool) { return work{}, false }
func (noHooks) preemptRefused(*worker, *sched.Actions)                    {}
func (noHooks) mayAdopt(*worker, sched.AttemptID) bool                    { return false }
func (noHooks) adopt(*worker, work)                                       {}
func (noHooks) lost(*worker, *sched.Message, *sched.Actions)              {}
func (noHooks) stepBegins(sched.Time)                                     {}
func (noHooks) timeout(uint64, *sched.Actions)                            {}
func (noHooks) masterChanged(sched.Addr, bool)                            {}
func (noHooks) tasksFrom(sched.Addr, bool, *sched.Actions)                {}
func (noHooks) valid() error                                              { return nil }

func (noHooks) asShort(_ *queue.Job, count int32) int32 { return count }

func (noHooks) placeElsewhere(x work, count int32, _ *sched.Actions) (work, int32) { return x, count }

func (noHooks) idleNotice(*worker, sched.AttemptID, []sched.AttemptID, *sched.Actions) bool {
	return false
}

func (noHooks) spareElsewhere(sched.Addr, []string, bool, *sched.Actions) {}
