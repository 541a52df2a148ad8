package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

// sample is what the ec2 model is compared by.
type sample struct {
	fanout, mean, task, gap []float64
	longJobs, longWork      float64
	firstFifth              float64 // share of work that arrives in it
}

func sampleOf(w *Workload) sample {
	var s sample
	work, span := w.Work(), float64(w.Span())
	gap := span / float64(len(w.Jobs)-1)
	for i := range w.Jobs {
		job := &w.Jobs[i]
		s.fanout = append(s.fanout, float64(len(job.Durations)))
		s.mean = append(s.mean, float64(job.Estimate))
		for _, d := range job.Durations {
			s.task = append(s.task, float64(d))
		}
		if i > 0 {
			s.gap = append(s.gap, float64(job.Arrival-w.Jobs[i-1].Arrival)/gap)
		}
		if job.TrueLong {
			s.longJobs += 1 / float64(len(w.Jobs))
			s.longWork += float64(job.Work()) / work
		}
		if float64(job.Arrival-w.Jobs[0].Arrival) < span/5 {
			s.firstFifth += float64(job.Work()) / work
		}
	}
	return s
}

// distance is the Kolmogorov-Smirnov distance of two samples.
func distance(a, b []float64) float64 {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	i, j, largest := 0, 0, 0.0
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] <= x {
			i++
		}
		for j < len(b) && b[j] <= x {
			j++
		}
		largest = max(largest, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return largest
}

// distanceToExponential is that of a sample to the exponential distribution
// of its own mean.
func distanceToExponential(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	mean := 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	largest := 0.0
	for i, x := range xs {
		p := 1 - math.Exp(-x/mean)
		largest = max(largest, math.Abs(p-float64(i)/float64(len(xs))), math.Abs(p-float64(i+1)/float64(len(xs))))
	}
	return largest
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, 0},
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{1, 2, 3, 4}, []float64{3, 4, 5, 6}, 0.5},
		{[]float64{1, 1, 1, 2}, []float64{1, 2, 2, 2}, 0.5},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%v, %v) = %g, want %g", tt.a, tt.b, got, tt.want)
		}
	}
}

// The figures that the package comment states, with -v. The bounds are what
// other seeds have too, rounded up.
func TestEC2ResemblesTheTraces(t *testing.T) {
	trace, err := Open(tracetest.Path(t, "ngo_90.tr"))
	if err != nil {
		t.Fatal(err)
	}
	file := sampleOf(trace.Classify(1e9))
	t.Logf("trace: long jobs %.3f, long work %.3f, first fifth %.3f", file.longJobs, file.longWork, file.firstFifth)
	for _, tt := range []struct {
		spec       string
		firstFifth float64
	}{
		{"gen:ec2,jobs=50000,burst=true", file.firstFifth},
		{"gen:ec2,jobs=50000", 0.2},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			model := sampleOf(made(t, tt.spec))
			for _, d := range []struct {
				what      string
				got, most float64
			}{
				{"fan-out", distance(model.fanout, file.fanout), 0.01},
				{"mean task duration", distance(model.mean, file.mean), 0.025},
				{"task duration", distance(model.task, file.task), 0.06},
				{"inter-arrival", distance(model.gap, file.gap), 0.02},
				{"long jobs", math.Abs(model.longJobs - file.longJobs), 0.005},
				{"long work", math.Abs(model.longWork - file.longWork), 0.02},
				{"work in the first fifth", math.Abs(model.firstFifth - tt.firstFifth), 0.03},
			} {
				t.Logf("%-24s %.4f", d.what, d.got)
				if d.got > d.most {
					t.Errorf("%s differs by %.4f, stated at most %.3f", d.what, d.got, d.most)
				}
			}
			t.Logf("long jobs %.3f, long work %.3f, first fifth %.3f", model.longJobs, model.longWork, model.firstFifth)
		})
	}
}

// Properties of the model that need no trace to compare with.
func TestEC2KeepsTheClassItDrew(t *testing.T) {
	for _, job := range made(t, "gen:ec2,jobs=20000").Jobs {
		work, n := float64(job.Work()), float64(len(job.Durations))
		if math.Abs(work/n-float64(job.Estimate)) > 1 {
			t.Fatalf("job %d: estimate %d ns, mean %f ns", job.Line, job.Estimate, work/n)
		}
		if slices.Min(job.Durations) <= 0 || len(job.Durations) > 98 || job.Longest() > 600e9 {
			t.Fatalf("job %d is outside the traces' range: %v", job.Line, job.Durations)
		}
	}
}
