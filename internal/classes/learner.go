package classes

import (
	"cmp"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Bounds of a [Learner], unless its settings say otherwise.
const (
	DefaultMaxWorks  = 20_000
	DefaultMaxOwners = 4096
	// DefaultMaxOverrun is the share of an owner's short slot-seconds that may be past the
	// cutoff.
	DefaultMaxOverrun = 0.1
)

// Settings of a [Learner].
type Settings struct {
	Cutoff  sched.Time  // the longest estimate of a short job
	Default sched.Class // of an unknown job
	// Declared means that jobs that declare nothing have the default class, whatever is
	// known of their work.
	Declared   bool
	MaxWorks   int     // works kept at most; 0: DefaultMaxWorks
	MaxOwners  int     // owners whose short tasks are counted, at most; 0: DefaultMaxOwners
	MaxOverrun float64 // 0: DefaultMaxOverrun; with 1 what is declared is always believed
}

// Learner knows how long the tasks of works took and how much of the short tasks of each
// owner was past the cutoff. It is not safe for concurrent use. Make one with New.
type Learner struct {
	settings Settings
	works    works
	owners   owners
	changes  uint64
}

// New returns a learner that knows nothing.
func New(s Settings) *Learner {
	s.MaxWorks, s.MaxOwners, s.MaxOverrun = cmp.Or(s.MaxWorks, DefaultMaxWorks), cmp.Or(s.MaxOwners, DefaultMaxOwners), cmp.Or(s.MaxOverrun, DefaultMaxOverrun)
	return &Learner{settings: s, works: works{most: s.MaxWorks, byID: map[workID]*work{}}, owners: owners{most: s.MaxOwners, byName: map[string]*overruns{}}}
}

// Works returns how many works are known.
func (l *Learner) Works() int { return len(l.works.byID) }

// Run is what a learner keeps of a job until its end. The zero value is that of a job from
// which nothing is learned.
type Run struct {
	id       workID
	work     *work     // once the job was entered there
	number   uint64    // of the job at the work
	overruns *overruns // nil when its tasks count for none
	always   bool      // they count whatever class they ran as: the job was overruled
	tasks    int64     // that succeeded
	ran      sched.Time
	learns   bool
}

// firstTasks is how many tasks of a job must have succeeded before it counts although it
// has not ended.
const firstTasks = 3

// Begin returns what is to be kept of a job, given how its class was decided.
func (l *Learner) Begin(j *Job, d *Verdict) Run {
	r := Run{learns: j.Work != "", always: d.Origin == Overruled}
	if r.learns {
		r.id = idOf(j.Owner, j.Work)
	}
	if j.Owner != "" && d.believed() {
		r.overruns = l.owners.make(j.Owner)
	}
	return r
}

// TaskEnded is called once for each task of the job that succeeded or failed. ran is for how
// long its last attempt ran, without the time in which it was suspended; short says that it
// was started as a short task. Tasks of an overruled job count as short ones in any case.
func (l *Learner) TaskEnded(now sched.Time, r *Run, ran sched.Time, succeeded, short bool) {
	if r.overruns != nil && (short || r.always) {
		r.overruns.add(now, ran, l.settings.Cutoff)
		l.owners.changes++
	}
	switch {
	case !r.learns:
	case succeeded:
		r.tasks++
		r.ran += ran
		if r.tasks >= firstTasks {
			l.enter(r)
		}
	default:
		l.works.make(r.id).failures++
		l.changes++
	}
}

// JobEnded is called when the job has ended by itself. A job without a successful task
// does not count, and neither does a job for which JobEnded is not called and fewer than
// three tasks succeeded, such as a cancelled one.
func (l *Learner) JobEnded(r *Run) {
	if r.learns && r.tasks > 0 {
		l.enter(r)
	}
}

// enter brings the mean of the job to its work.
func (l *Learner) enter(r *Run) {
	mean := r.ran / sched.Time(r.tasks)
	l.changes++
	if r.work != nil && !r.work.gone {
		r.work.update(r.number, mean)
		return
	}
	r.work = l.works.make(r.id)
	r.number = r.work.enter(mean)
}
