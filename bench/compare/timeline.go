package compare

import (
	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Quantities that are followed over time.
const (
	Busy            = iota // workers that run a task
	WaitingShort           // short tasks that have not started
	WaitingLong            // long tasks that have not started
	UnfinishedShort        // short jobs between arrival and completion
	UnfinishedLong         // long jobs between arrival and completion
	quantities
)

// Timeline holds the mean of each quantity in equal spans of time. Its memory
// does not grow with the run: full, it joins spans two by two.
type Timeline struct {
	width int64 // of a span, ns
	spans [quantities][]float64

	value [quantities]float64
	since [quantities]int64
}

// maxSpans bounds the spans, and so the memory, of a timeline.
const maxSpans = 400

func newTimeline() *Timeline { return &Timeline{width: 1_000_000} }

// add changes a quantity by d at an instant; per quantity time does not go back.
func (t *Timeline) add(quantity int, at int64, d float64) {
	t.fill(quantity, at)
	t.value[quantity] += d
}

// fill records the value that a quantity has had since its last change.
func (t *Timeline) fill(quantity int, until int64) {
	for until > t.width*maxSpans {
		t.halve()
	}
	value, at := t.value[quantity], t.since[quantity]
	for at < until {
		k := at / t.width
		end := min((k+1)*t.width, until)
		if value != 0 {
			t.grow(quantity, int(k)+1)
			t.spans[quantity][k] += value * float64(end-at) / float64(t.width)
		}
		at = end
	}
	t.since[quantity] = max(until, t.since[quantity])
}

func (t *Timeline) grow(quantity, n int) {
	if have := len(t.spans[quantity]); have < n {
		t.spans[quantity] = append(t.spans[quantity], make([]float64, n-have)...)
	}
}

func (t *Timeline) halve() {
	t.width *= 2
	for q, s := range t.spans {
		half := (len(s) + 1) / 2
		for k := range half {
			sum := s[2*k]
			if 2*k+1 < len(s) {
				sum += s[2*k+1]
			}
			s[k] = sum / 2
		}
		t.spans[q] = s[:half]
	}
}

// Line returns a quantity as times (s) and the means that hold from them on; the last
// value is the one at the end.
func (t *Timeline) Line(quantity int) (times, values []float64) {
	for k, v := range t.spans[quantity] {
		times = append(times, float64(int64(k)*t.width)/1e9)
		values = append(values, v)
	}
	return append(times, float64(int64(len(values))*t.width)/1e9), append(values, t.value[quantity])
}

// follow is the Observer that fills a timeline.
type follow struct {
	*Timeline
	work    *workload.Workload
	first   []int // task number of each job's first
	started []bool
	running []bool
}

// follower returns the observer that fills a timeline.
func follower(w *workload.Workload) *follow {
	tasks := w.Tasks()
	return &follow{Timeline: newTimeline(), work: w, first: w.FirstTasks(), started: make([]bool, tasks), running: make([]bool, tasks)}
}

// Event implements sim.Observer.
func (f *follow) Event(now sched.Time, job int, task, _ int32, what string, _ sched.Addr) {
	at, j := int64(now), &f.work.Jobs[job]
	class := j.TrueClass()
	switch what {
	case measure.Submitted:
		f.add(WaitingShort+class, at, float64(len(j.Durations)))
		f.add(UnfinishedShort+class, at, 1)
	case measure.Started:
		if k := f.first[job] + int(task); !f.started[k] {
			f.started[k] = true
			f.add(WaitingShort+class, at, -1)
		}
		f.run(at, job, task, true)
	case measure.Resumed:
		f.run(at, job, task, true)
	case measure.Suspended, measure.Ended: // a suspended task may be killed
		f.run(at, job, task, false)
	case measure.Completed, measure.Failed:
		f.add(UnfinishedShort+class, at, -1)
	}
}

func (f *follow) run(at int64, job int, task int32, running bool) {
	k := f.first[job] + int(task)
	switch {
	case running && !f.running[k]:
		f.add(Busy, at, 1)
	case !running && f.running[k]:
		f.add(Busy, at, -1)
	}
	f.running[k] = running
}
