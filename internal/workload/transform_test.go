package workload

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

// three jobs: 4 s of work at 1 s, 6 s at 3 s, 2 s at 5 s.
func three() *Workload {
	return &Workload{Name: "three", Jobs: []Job{
		{Line: 1, Arrival: 1e9, Estimate: 2e9, Durations: []int64{1e9, 3e9}},
		{Line: 2, Arrival: 3e9, Estimate: 6e9, Durations: []int64{6e9}},
		{Line: 3, Arrival: 5e9, Estimate: 1e9, Durations: []int64{1e9, 1e9}},
	}}
}

// made returns n generated jobs, classified at 1 s.
func made(t *testing.T, spec string) *Workload {
	t.Helper()
	w, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return w.Classify(1e9)
}

func TestLoadIsWorkOverWorkersAndSpan(t *testing.T) {
	if got := three().Load(6); got != 0.5 { // 12 s / (6 x 4 s)
		t.Errorf("load = %g, want 0.5", got)
	}
	at := &Workload{Jobs: three().Jobs[:1]}
	if got := at.Load(6); got != 0 {
		t.Errorf("load of one job = %g, want 0 (no span)", got)
	}
}

func TestClassifyIsShortAtTheCutoff(t *testing.T) {
	w := three().Classify(2e9)
	for i, want := range []bool{false, true, false} {
		if w.Jobs[i].TrueLong != want || w.Jobs[i].DeclaredLong != want {
			t.Errorf("job %d: long %v, declared %v; want %v", i+1, w.Jobs[i].TrueLong, w.Jobs[i].DeclaredLong, want)
		}
	}
}

// bench/README.md: the class in results is "by the actual durations, regardless of what was
// declared or estimated": also where a trace states another mean than that of its durations, such as
// one that was written with wrong classes or with noise on its estimates.
func TestTrueClassIsThatOfTheDurations(t *testing.T) {
	w := three()
	w.Jobs[0].Estimate, w.Jobs[1].Estimate = 3e9, 1e9 // of means of 2 and 6 s
	w = w.Classify(2e9)
	for i, want := range []struct{ actually, declared bool }{{false, true}, {true, false}, {false, false}} {
		if j := &w.Jobs[i]; j.TrueLong != want.actually || j.DeclaredLong != want.declared {
			t.Errorf("job %d: long %v, declared %v; want %+v", i+1, j.TrueLong, j.DeclaredLong, want)
		}
	}
	if wrong := w.WrongClass(1, 1).Jobs; wrong[0].DeclaredLong || !wrong[1].DeclaredLong || wrong[0].Estimate > 2e9 || wrong[1].Estimate <= 2e9 {
		t.Errorf("flipped, with an estimate of the class that is declared now: %+v", wrong)
	}
	before := made(t, "gen:ec2,jobs=2000")
	var file bytes.Buffer
	if err := before.WrongClass(0.2, 3).Noise(0.5, 3).Write(&file); err != nil {
		t.Fatal(err)
	}
	after, err := Read(&file, "written")
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range after.Classify(1e9).Jobs {
		if j.TrueLong != before.Jobs[i].TrueLong {
			t.Fatalf("job %d, of tasks of %d ns, has turned from long %v to long %v", i+1, j.Durations, before.Jobs[i].TrueLong, j.TrueLong)
		}
	}
}

func TestScaleMultipliesArrivals(t *testing.T) {
	w, err := three().Scale(0.25, 6)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{2e9, 6e9, 10e9} {
		if w.Jobs[i].Arrival != want {
			t.Errorf("arrival %d = %d, want %d", i, w.Jobs[i].Arrival, want)
		}
	}
}

// The files of one sample differ only in their load, so scaling one gives
// another, to the digits they are printed with.
func TestScalingOneLoadGivesTheFileOfAnother(t *testing.T) {
	ninety, err := Open(tracetest.Path(t, "ngo_90.tr"))
	if err != nil {
		t.Fatal(err)
	}
	fifty, err := Open(tracetest.Path(t, "ngo_50.tr"))
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := ninety.Scale(fifty.Load(120), 120)
	if err != nil {
		t.Fatal(err)
	}
	for i := range scaled.Jobs {
		got, want := float64(scaled.Jobs[i].Arrival), float64(fifty.Jobs[i].Arrival)
		if math.Abs(got-want) > 1e-5*want {
			t.Fatalf("job %d arrives at %.9g ns, in ngo_50 at %.9g", i+1, got, want)
		}
	}
}

func TestScaleRefusesWhatHasNoLoad(t *testing.T) {
	for name, refuse := range map[string]func() error{
		"one arrival":   func() error { _, err := three().FirstN(1).Scale(0.5, 6); return err },
		"empty":         func() error { _, err := new(Workload).Scale(0.5, 6); return err },
		"no workers":    func() error { _, err := three().Scale(0.5, 0); return err },
		"load NaN":      func() error { _, err := three().Scale(math.NaN(), 6); return err },
		"negative load": func() error { _, err := three().Scale(-1, 6); return err },
		"endless span":  func() error { _, err := three().Scale(1e-12, 6); return err },
		"speed 0":       func() error { _, err := three().Speedup(0); return err },
		"speed NaN":     func() error { _, err := three().Speedup(math.NaN()); return err },
		"draw 1":        func() error { _, err := three().Resample(1, 1, 6, 0.5); return err },
		"draw of none":  func() error { _, err := new(Workload).Resample(5, 1, 6, 0.5); return err },
	} {
		if refuse() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A workload without a load of its own can be drawn from at a load that is given, and the refusal
// says so.
func TestResampleOfWhatHasNoLoad(t *testing.T) {
	one := three().FirstN(1)
	if _, err := one.Resample(5, 1, 6, 0); err == nil || strings.Contains(err.Error(), "to load 0:") || !strings.Contains(err.Error(), "--load 0.9") {
		t.Errorf("at its own load: %v", err)
	}
	if w, err := one.Resample(5, 1, 6, 0.9); err != nil || math.Abs(w.Load(6)-0.9) > 1e-6 {
		t.Errorf("at load 0.9: %v", err)
	}
}

func TestResampleIsPoissonAtTheLoad(t *testing.T) {
	const n = 20_000
	source := made(t, "gen:ec2,burst=true")
	w, err := source.Resample(n, 7, 120, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Load(120); math.Abs(got-0.8) > 1e-6 {
		t.Errorf("load = %.9f, want 0.8", got)
	}
	gaps, fifths, long := make([]float64, 0, n), [5]int{}, 0
	for i := range w.Jobs {
		if w.Jobs[i].Line != i+1 {
			t.Fatalf("job %d has key %d", i+1, w.Jobs[i].Line)
		}
		if i > 0 {
			gaps = append(gaps, float64(w.Jobs[i].Arrival-w.Jobs[i-1].Arrival))
		}
		if w.Jobs[i].TrueLong {
			long++
			fifths[i*5/n]++
		}
	}
	if d := distanceToExponential(gaps); d > 1.63/math.Sqrt(n) { // the 1 % point of Kolmogorov's test
		t.Errorf("gaps are %.4f from exponential", d)
	}
	for k, count := range fifths { // the source has all of them in the first
		if share := float64(count) / float64(long); share < 0.17 || share > 0.23 {
			t.Errorf("fifth %d holds %.2f of the long jobs, want them spread evenly", k+1, share)
		}
	}
}

func TestResampleKeepsTheLoadOfItsSource(t *testing.T) {
	source := made(t, "gen:ec2,load=0.6")
	w, err := source.Resample(3000, 7, 120, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.Load(120), source.Load(120); math.Abs(got-want) > 1e-6 {
		t.Errorf("load = %.9f, want %.9f", got, want)
	}
}

func TestSpeedupDividesAllTimes(t *testing.T) {
	w, err := three().Classify(2e9).Speedup(10)
	if err != nil {
		t.Fatal(err)
	}
	want := Job{Line: 2, Arrival: 3e8, Estimate: 6e8, Durations: []int64{6e8}, DeclaredLong: true, TrueLong: true}
	if !reflect.DeepEqual(w.Jobs[1], want) {
		t.Errorf("job 2 = %+v, want %+v", w.Jobs[1], want)
	}
}

func TestWrongClassFlipsTheShareAndTakesTheOthersEstimate(t *testing.T) {
	w := made(t, "gen:ec2,jobs=20000")
	wrong := w.WrongClass(0.2, 3)
	estimates := w.estimatesByClass()
	flipped := 0
	for i, job := range wrong.Jobs {
		before := w.Jobs[i]
		if job.TrueLong != before.TrueLong {
			t.Fatalf("job %d: the true class changed", i+1)
		}
		if job.DeclaredLong == job.TrueLong {
			if job.Estimate != before.Estimate {
				t.Fatalf("job %d kept its class but not its estimate", i+1)
			}
			continue
		}
		flipped++
		if (job.Estimate > 1e9) != job.DeclaredLong {
			t.Fatalf("job %d declares long=%v with an estimate of %d ns", i+1, job.DeclaredLong, job.Estimate)
		}
	}
	if share := float64(flipped) / 20_000; math.Abs(share-0.2) > 0.01 {
		t.Errorf("%.3f of the jobs are wrong, want 0.2", share)
	}
	if len(estimates[0]) == 0 || len(estimates[1]) == 0 {
		t.Fatal("the workload has one class only: nothing was tested")
	}
}

func TestWrongClassWithoutAnotherClassKeepsEstimates(t *testing.T) {
	w := made(t, "gen:uniform,mean=10ms,jobs=50").WrongClass(1, 1)
	for _, job := range w.Jobs {
		if !job.DeclaredLong || job.TrueLong || job.Estimate > 2e7 {
			t.Fatalf("job %+v, want declared long with its own estimate", job)
		}
	}
}

func TestUndeclareHidesClassAndEstimateOfTheShare(t *testing.T) {
	w := made(t, "gen:ec2,jobs=20000").WrongClass(0.2, 3)
	some, most := w.Undeclare(0.3, 3), w.Undeclare(0.8, 3)
	hidden := 0
	for i, job := range some.Jobs {
		want := w.Jobs[i]
		if job.Undeclared {
			hidden++
			want.Undeclared, want.DeclaredLong, want.Estimate = true, false, 0
			if !most.Jobs[i].Undeclared {
				t.Fatalf("job %d declares at a larger share and not at a smaller one", i+1)
			}
		}
		if !reflect.DeepEqual(job, want) {
			t.Fatalf("job %d is %+v, want %+v", i+1, job, want)
		}
	}
	if share := float64(hidden) / 20_000; math.Abs(share-0.3) > 0.01 {
		t.Errorf("%.3f of the jobs declare nothing, want 0.3", share)
	}
	for i, job := range w.Undeclare(1, 9).Jobs {
		if !job.Undeclared {
			t.Fatalf("job %d declares", i+1)
		}
	}
}

func TestNoiseHasMeanOneAndKeepsClasses(t *testing.T) {
	const sigma = 0.5
	w := made(t, "gen:ec2,jobs=50000")
	noisy := w.Noise(sigma, 9)
	sum, logs, squares := 0.0, 0.0, 0.0
	for i, job := range noisy.Jobs {
		if job.TrueLong != w.Jobs[i].TrueLong || job.DeclaredLong != w.Jobs[i].DeclaredLong {
			t.Fatalf("job %d: noise changed its class", i+1)
		}
		factor := float64(job.Estimate) / float64(w.Jobs[i].Estimate)
		sum += factor
		logs += math.Log(factor)
		squares += math.Log(factor) * math.Log(factor)
	}
	n := float64(len(noisy.Jobs))
	if mean := sum / n; math.Abs(mean-1) > 0.01 {
		t.Errorf("mean factor = %.4f, want 1", mean)
	}
	center := logs / n
	if math.Abs(center+sigma*sigma/2) > 0.01 {
		t.Errorf("mean log = %.4f, want %.4f", center, -sigma*sigma/2)
	}
	if dev := math.Sqrt(squares/n - center*center); math.Abs(dev-sigma) > 0.01 {
		t.Errorf("deviation of the log = %.4f, want %.2f", dev, sigma)
	}
}

// Each transform is a function of its arguments and leaves its receiver alone.
func TestTransformsArePureAndSeeded(t *testing.T) {
	must := func(w *Workload, err error) *Workload {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for name, apply := range map[string]func(*Workload, uint64) *Workload{
		"resample":    func(w *Workload, s uint64) *Workload { return must(w.Resample(200, s, 120, 0.5)) },
		"wrong class": func(w *Workload, s uint64) *Workload { return w.WrongClass(0.5, s) },
		"undeclare":   func(w *Workload, s uint64) *Workload { return w.Undeclare(0.5, s) },
		"noise":       func(w *Workload, s uint64) *Workload { return w.Noise(1, s) },
		"prepare": func(w *Workload, s uint64) *Workload {
			return must(w.Prepare(Options{Jobs: 250, Resample: 200, Workers: 120, Cutoff: 1e9, WrongClass: .1, Noise: .1, Speedup: 3, Seed: s}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, untouched := made(t, "gen:ec2,jobs=300"), made(t, "gen:ec2,jobs=300")
			one, again, other := apply(w, 1), apply(w, 1), apply(w, 2)
			if !reflect.DeepEqual(w, untouched) {
				t.Error("the receiver changed")
			}
			if !reflect.DeepEqual(one, again) {
				t.Error("the same seed has two results")
			}
			if reflect.DeepEqual(one, other) {
				t.Error("two seeds have one result")
			}
		})
	}
}

func TestPrepareAppliesAll(t *testing.T) {
	w, err := three().Prepare(Options{Jobs: 2, Load: 0.5, Workers: 10, Cutoff: 2e9, Speedup: 2})
	if err != nil {
		t.Fatal(err)
	}
	// Two jobs of 4 and 6 s, 2 s apart, are load 0.5 on 10 workers already.
	want := []Job{
		{Line: 1, Arrival: 5e8, Estimate: 1e9, Durations: []int64{5e8, 15e8}},
		{Line: 2, Arrival: 15e8, Estimate: 3e9, Durations: []int64{3e9}, DeclaredLong: true, TrueLong: true},
	}
	if !reflect.DeepEqual(w.Jobs, want) {
		t.Errorf("jobs %+v, want %+v", w.Jobs, want)
	}
}
