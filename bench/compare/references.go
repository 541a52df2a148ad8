package compare

import (
	"cmp"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Names of the references, in the order of the figures. No policy is below the first; the second is
// no bound.
const (
	LongestTask = "longest task"
	Clairvoyant = "clairvoyant"
)

// references are both references of one workload.
type references struct {
	longest, clairvoyant measure.ByClass
	// For figures: times in seconds by class, and quantities over time.
	curves    [2][2][]float64 // by reference, then class
	timelines [2]*Timeline
}

// referencesOf computes both references.
func referencesOf(w *workload.Workload, workers int) *references {
	watched := &holdings{Timeline: newTimeline(), work: w, jobs: make([]holding, len(w.Jobs))}
	b := &references{timelines: [2]*Timeline{unqueued(w, workers), watched.Timeline}}
	clairvoyant := measure.ClairvoyantWatched(w, workers, watched)
	var took [2][2][]int64
	var changes []change
	for i := range w.Jobs {
		j := &w.Jobs[i]
		class := j.TrueClass()
		took[0][class] = append(took[0][class], j.Longest())
		took[1][class] = append(took[1][class], clairvoyant[i])
		changes = append(changes, during(UnfinishedShort+class, j.Arrival, clairvoyant[i])...)
	}
	b.timelines[1].replay(changes)
	for which, into := range []*measure.ByClass{&b.longest, &b.clairvoyant} {
		for class, sample := range took[which] {
			*into.Class(class) = measure.Describe(sample, 1e-9) // which sorts it
			b.curves[which][class] = spread(sample, 1e-9)
		}
	}
	return b
}

// holding counts the workers and the waiting tasks of a job in the clairvoyant schedule.
type holding struct{ workers, unstarted int }

// holdings is the measure.ScheduleWatcher that fills a timeline with busy workers
// and waiting tasks.
type holdings struct {
	*Timeline
	work *workload.Workload
	jobs []holding
}

// Holds implements measure.ScheduleWatcher.
func (h *holdings) Holds(at int64, job, workers, unstarted int) {
	waiting, had := WaitingShort+h.work.Jobs[job].TrueClass(), &h.jobs[job]
	if d := workers - had.workers; d != 0 {
		h.add(Busy, at, float64(d))
	}
	if d := unstarted - had.unstarted; d != 0 {
		h.add(waiting, at, float64(d))
	}
	*had = holding{workers, unstarted}
}

// unqueued returns the timeline of a run in which no task waits. More tasks than workers
// may run in it; the number of busy workers is limited to that of the workers.
func unqueued(w *workload.Workload, workers int) *Timeline {
	var changes []change
	for i := range w.Jobs {
		j := &w.Jobs[i]
		class := j.TrueClass()
		changes = append(changes, during(UnfinishedShort+class, j.Arrival, j.Longest())...)
		for _, d := range j.Durations {
			changes = append(changes, during(Busy, j.Arrival, d)...)
		}
	}
	t := newTimeline()
	t.replay(changes)
	for k, v := range t.spans[Busy] {
		t.spans[Busy][k] = min(v, float64(workers))
	}
	return t
}

// change is one step of a quantity.
type change struct {
	at       int64
	quantity int
	by       float64
}

func during(quantity int, at, length int64) []change {
	return []change{{at, quantity, 1}, {at + length, quantity, -1}}
}

func (t *Timeline) replay(changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, c := range changes {
		t.add(c.quantity, c.at, c.by)
	}
}

// curvePoints bounds the points of a distribution that are kept for figures.
const curvePoints = 500

// spread returns up to curvePoints evenly spaced values of a sorted sample, the last
// one included, each multiplied by unit.
func spread[T ~int64 | ~float64](sorted []T, unit float64) (points []float64) {
	n := len(sorted)
	count := min(n, curvePoints)
	for i := 1; i <= count; i++ {
		points = append(points, float64(sorted[i*n/count-1])*unit)
	}
	return points
}
