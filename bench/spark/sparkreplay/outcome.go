package sparkreplay

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/spark/driver"
	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// outcome collects the records of the drivers.
type outcome struct {
	work     *workload.Workload
	out      *experiment.Outcome
	first    []int       // of each job, the number of its first task
	jobs     map[int]int // line -> job
	events   []measure.Event
	ended    int
	attempts int64
	busy     int64
	lateness int64
}

func newOutcome(w *workload.Workload) *outcome {
	o := &outcome{work: w, out: experiment.NewOutcome(w), first: w.FirstTasks(), jobs: make(map[int]int, len(w.Jobs))}
	for i := range w.Jobs {
		o.jobs[w.Jobs[i].Line] = i
	}
	return o
}

// add adds the record of a job. After an error no driver of this version can have
// written it.
func (o *outcome) add(d *member, s *driver.Record) error {
	i, ok := o.jobs[s.Job]
	switch {
	case !ok || !d.has(i):
		return fmt.Errorf("it has a record of the job of line %d, which is not its own", s.Job)
	case o.out.Jobs[i].Ended:
		return fmt.Errorf("it has two records of the job of line %d", s.Job)
	case len(s.Reported) != len(o.work.Jobs[i].Durations):
		return fmt.Errorf("its record has %d tasks of the job of line %d, which has %d", len(s.Reported), s.Job, len(o.work.Jobs[i].Durations))
	}
	o.ended++
	o.out.Jobs[i] = experiment.Job{Arrival: s.Submitted, End: s.Submitted + s.Completion, Ended: true, Failed: s.State != driver.Completed}
	o.lateness = max(o.lateness, s.Submitted-(o.work.Jobs[i].Arrival-o.work.Jobs[0].Arrival))
	o.event(s, measure.OfJob, measure.Submitted, s.Submitted, d.String())
	for k, reported := range s.Reported {
		if reported < 0 {
			continue
		}
		o.attempts += int64(s.Attempts[k])
		o.busy += s.Ran[k]
		waited := max(0, reported-s.Ran[k])
		o.out.Queueing[o.first[i]+k] = waited
		where := d.String() + ", executor " + s.Executors[k]
		o.event(s, k, measure.Started, s.Submitted+waited, where)
		o.event(s, k, measure.Reported, s.Submitted+reported, where)
	}
	last := measure.Completed
	if s.State != driver.Completed {
		last = measure.Failed
	}
	o.event(s, measure.OfJob, last, s.Submitted+s.Completion, d.String())
	return nil
}

func (o *outcome) event(s *driver.Record, task int, event string, at int64, where string) {
	e := measure.Event{Time: at, Job: strconv.Itoa(s.Job), Task: task, Event: event, Where: where}
	if task != measure.OfJob {
		e.Attempt = max(1, s.Attempts[task])
	}
	o.events = append(o.events, e)
}

// measured returns the outcome.
func (o *outcome) measured(began time.Time, wall time.Duration, partial bool) *replay.Measured {
	slices.SortStableFunc(o.events, func(x, y measure.Event) int { return cmp.Compare(x.Time, y.Time) })
	out := o.out
	out.Tolerance = [2]int64{replay.Tolerance.Nanoseconds(), replay.Tolerance.Nanoseconds()}
	out.Facts.Mode, out.Facts.Attempts, out.Facts.Partial = "live", o.attempts, partial || o.ended < len(o.work.Jobs)
	out.Facts.Wall, out.Facts.Busy = wall.Nanoseconds(), o.busy
	return &replay.Measured{
		Replayed: replay.Replayed{Outcome: out, Began: began, Lateness: time.Duration(o.lateness)}, Events: o.events,
	}
}
