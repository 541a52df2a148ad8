package experiment

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Use follows the tasks of a run to measure what each owner uses.
type Use struct {
	*measure.Shares
	work   *workload.Workload
	first  []int // task number of each job's first
	owners []int // of each job
	states []taskState
}

type taskState uint8

const (
	absent taskState = iota // not submitted, or over
	waits
	runs
)

// newUse returns nil for a workload without owners.
func (r *Run) newUse(w *workload.Workload) *Use {
	names := w.Owners()
	if names == nil {
		return nil
	}
	d := r.Description
	window := int64(float64(cmp.Or(d.Window.Nanoseconds(), int64(measure.Window))) / d.Speedup())
	u := &Use{
		Shares: measure.NewShares(names, d.Shares, max(1, window)), work: w, first: w.FirstTasks(),
		owners: make([]int, len(w.Jobs)), states: make([]taskState, w.Tasks()),
	}
	for i := range w.Jobs {
		u.owners[i], _ = slices.BinarySearch(names, w.Jobs[i].Owner)
	}
	return u
}

// Event implements [sim.Observer].
func (u *Use) Event(now sched.Time, job int, task, _ int32, what string, _ sched.Addr) {
	at := int64(now)
	switch what {
	case measure.Submitted:
		for k := range u.work.Jobs[job].Durations {
			u.set(at, job, k, waits)
		}
	case measure.Started, measure.Resumed:
		u.set(at, job, int(task), runs)
	case measure.Suspended:
		u.set(at, job, int(task), waits)
	case measure.Ended, measure.Reported:
		if task >= 0 {
			u.set(at, job, int(task), absent)
		}
	case measure.Completed, measure.Failed:
		for k := range u.work.Jobs[job].Durations {
			u.set(at, job, k, absent)
		}
	}
}

func (u *Use) set(at int64, job, task int, to taskState) {
	state := &u.states[u.first[job]+task]
	if *state == to {
		return
	}
	owner, class := u.owners[job], u.work.Jobs[job].TrueClass()
	count := func(s taskState, n int) {
		switch s {
		case waits:
			u.Waits(at, owner, class, n)
		case runs:
			u.Runs(at, owner, class, n)
		}
	}
	// A beginning is counted before an end: a task that turns from one to the other leaves no
	// instant at which nothing waits.
	count(to, 1)
	count(*state, -1)
	*state = to
}

// UseOf measures what owners used in a live run, from its events in order of time; nil for a
// workload without owners.
func (r *Run) UseOf(w *workload.Workload, events []measure.Event) *measure.Shares {
	u := r.newUse(w)
	if u == nil || len(events) == 0 {
		return nil
	}
	lines := make(map[string]int, len(w.Jobs))
	for i := range w.Jobs {
		lines[strconv.Itoa(w.Jobs[i].Line)] = i
	}
	for _, e := range events {
		if i, ok := lines[strings.TrimLeft(e.Job, "0")]; ok && e.Task < len(w.Jobs[i].Durations) && e.Time >= 0 {
			u.Event(sched.Time(e.Time), i, int32(e.Task), 0, e.Event, sched.Addr{}) //nolint:gosec // below the number of tasks
		}
	}
	return u.Shares
}

// observers notifies several.
type observers []sim.Observer

// Event implements [sim.Observer].
func (o observers) Event(at sched.Time, job int, task, attempt int32, what string, where sched.Addr) {
	for _, each := range o {
		each.Event(at, job, task, attempt, what, where)
	}
}
