package published

import (
	"slices"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// Distance is how far two workloads are from each other in one quantity.
type Distance struct {
	Of string      `json:"of"` // the quantity
	KS float64     `json:"ks"` // Kolmogorov and Smirnov's: the greatest difference of the two distribution functions; 0 when they are equal, 1 when they do not overlap
	A  Percentiles `json:"a"`  // of the first workload
	B  Percentiles `json:"b"`  // of the second
}

// Percentiles are those of a sample; they are missing for an empty one.
type Percentiles struct {
	P50 measure.Number `json:"p50"` // median
	P90 measure.Number `json:"p90"` // 90th percentile
	P99 measure.Number `json:"p99"` // 99th percentile
}

// Distances compares two workloads: durations of tasks, mean durations and tasks of jobs, and
// the shape of their arrivals, which does not depend on the load.
func Distances(a, b *workload.Workload) []Distance {
	var list []Distance
	for _, q := range []struct {
		of     string
		sample func(*workload.Workload) []float64
	}{
		{"seconds of a task", taskSeconds}, {"mean seconds of a job's tasks", jobMeans},
		{"tasks of a job", jobTasks}, {"time between jobs over its mean", gaps},
	} {
		x, y := q.sample(a), q.sample(b)
		slices.Sort(x)
		slices.Sort(y)
		list = append(list, Distance{q.of, KolmogorovSmirnov(x, y), describe(x), describe(y)})
	}
	return list
}

// KolmogorovSmirnov returns the greatest difference of the distribution functions of two sorted
// samples; 1 when one of them is empty and the other is not.
func KolmogorovSmirnov(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		if len(x) == len(y) {
			return 0
		}
		return 1
	}
	most, i, k := 0.0, 0, 0
	for i < len(x) && k < len(y) {
		at := min(x[i], y[k])
		for i < len(x) && x[i] == at {
			i++
		}
		for k < len(y) && y[k] == at {
			k++
		}
		d := float64(i)/float64(len(x)) - float64(k)/float64(len(y))
		most = max(most, d, -d)
	}
	return most
}

func describe(sorted []float64) Percentiles {
	if len(sorted) == 0 {
		return Percentiles{measure.Missing(), measure.Missing(), measure.Missing()}
	}
	at := func(p float64) measure.Number { return measure.Number(sorted[int(p*float64(len(sorted)-1)+0.5)]) }
	return Percentiles{at(0.5), at(0.9), at(0.99)}
}

func taskSeconds(w *workload.Workload) (list []float64) {
	for i := range w.Jobs {
		for _, d := range w.Jobs[i].Durations {
			list = append(list, float64(d)/1e9)
		}
	}
	return list
}

func jobMeans(w *workload.Workload) (list []float64) {
	for i := range w.Jobs {
		sum := 0.0
		for _, d := range w.Jobs[i].Durations {
			sum += float64(d) / 1e9
		}
		list = append(list, sum/float64(max(1, len(w.Jobs[i].Durations))))
	}
	return list
}

func jobTasks(w *workload.Workload) (list []float64) {
	for i := range w.Jobs {
		list = append(list, float64(len(w.Jobs[i].Durations)))
	}
	return list
}

func gaps(w *workload.Workload) (list []float64) {
	if len(w.Jobs) < 2 || w.Span() == 0 {
		return nil
	}
	mean := float64(w.Span()) / float64(len(w.Jobs)-1)
	for i := 1; i < len(w.Jobs); i++ {
		list = append(list, float64(w.Jobs[i].Arrival-w.Jobs[i-1].Arrival)/mean)
	}
	return list
}
