package viaspark

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pigeon-sched/pigeon/bench/experiment"
	"github.com/pigeon-sched/pigeon/bench/measure"
	"github.com/pigeon-sched/pigeon/bench/replay"
	"github.com/pigeon-sched/pigeon/bench/workload"
)

// book collects what the drivers tell.
type book struct {
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

func newBook(w *workload.Workload) *book {
	b := &book{work: w, out: experiment.NewOutcome(w), first: make([]int, len(w.Jobs)), jobs: make(map[int]int, len(w.Jobs))}
	task := 0
	for i := range w.Jobs {
		b.first[i], b.jobs[w.Jobs[i].Line] = task, i
		task += len(w.Jobs[i].Durations)
	}
	return b
}

// enter books a job that ended. The error says that no driver of ours can have said
// this.
func (b *book) enter(d *driver, s *said) error {
	i, ok := b.jobs[s.Job]
	switch {
	case !ok || !d.has(i):
		return fmt.Errorf("it told of the job of line %d, which it does not have", s.Job)
	case b.out.Jobs[i].Ended:
		return fmt.Errorf("it told twice of the job of line %d", s.Job)
	case len(s.Reported) != len(b.work.Jobs[i].Durations):
		return fmt.Errorf("it told of %d tasks of the job of line %d, which has %d", len(s.Reported), s.Job, len(b.work.Jobs[i].Durations))
	}
	b.ended++
	b.out.Jobs[i] = experiment.Job{Arrival: s.Submitted, End: s.Submitted + s.Completion, Ended: true, Failed: s.State != completed}
	b.lateness = max(b.lateness, s.Submitted-(b.work.Jobs[i].Arrival-b.work.Jobs[0].Arrival))
	b.event(s, measure.OfJob, measure.Submitted, s.Submitted, d.name())
	for k, reported := range s.Reported {
		if reported < 0 {
			continue
		}
		b.attempts += int64(s.Attempts[k])
		b.busy += s.Ran[k]
		waited := max(0, reported-s.Ran[k])
		b.out.Queueing[b.first[i]+k] = waited
		where := d.name() + ", executor " + s.Executors[k]
		b.event(s, k, measure.Started, s.Submitted+waited, where)
		b.event(s, k, measure.Reported, s.Submitted+reported, where)
	}
	last := measure.Completed
	if s.State != completed {
		last = measure.Failed
	}
	b.event(s, measure.OfJob, last, s.Submitted+s.Completion, d.name())
	return nil
}

func (d *driver) name() string { return "driver " + strconv.Itoa(d.number) }

func (b *book) event(s *said, task int, event string, at int64, where string) {
	e := measure.Event{Time: at, Job: strconv.Itoa(s.Job), Task: task, Event: event, Where: where}
	if task != measure.OfJob {
		e.Attempt = max(1, s.Attempts[task])
	}
	b.events = append(b.events, e)
}

// measured returns the outcome.
func (b *book) measured(began time.Time, wall time.Duration, partial bool) *replay.Measured {
	slices.SortStableFunc(b.events, func(x, y measure.Event) int { return cmp.Compare(x.Time, y.Time) })
	o := b.out
	o.Tolerance = [2]int64{replay.Tolerance.Nanoseconds(), replay.Tolerance.Nanoseconds()}
	o.Facts.Mode, o.Facts.Attempts, o.Facts.Partial = "live", b.attempts, partial || b.ended < len(b.work.Jobs)
	o.Facts.Wall, o.Facts.Busy = wall.Nanoseconds(), b.busy
	return &replay.Measured{
		Replayed: replay.Replayed{Outcome: o, Began: began, Lateness: time.Duration(b.lateness)}, Events: b.events,
	}
}
