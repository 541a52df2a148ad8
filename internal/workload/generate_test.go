package workload

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/workload/tracetest"
)

func TestGeneratorsHitTheirLoadAndKeepTheirSeed(t *testing.T) {
	for _, g := range Generators() {
		t.Run(g.Name, func(t *testing.T) {
			spec := "gen:" + g.Name + ",jobs=2000,load=0.7,workers=50,seed=5"
			w, again := made(t, spec), made(t, spec)
			if len(w.Jobs) != 2000 || math.Abs(w.Load(50)-0.7) > 1e-6 || w.Name != spec {
				t.Errorf("%d jobs at load %.6f, want 2000 at 0.7", len(w.Jobs), w.Load(50))
			}
			if !reflect.DeepEqual(w, again) {
				t.Error("one specification has two workloads")
			}
			if reflect.DeepEqual(w.Jobs, made(t, "gen:"+g.Name+",jobs=2000,load=0.7,workers=50,seed=6").Jobs) {
				t.Error("two seeds have one workload")
			}
			rewritten(t, w) // is a trace
		})
	}
}

func TestExpResemblesItsTrace(t *testing.T) {
	trace, err := Open(tracetest.Path(t, "exp_50.tr"))
	if err != nil {
		t.Fatal(err)
	}
	file, model := sampleOf(trace), sampleOf(made(t, "gen:exp,jobs=50000"))
	for what, d := range map[string]float64{
		"fan-out":       distance(model.fanout, file.fanout),
		"task duration": distance(model.task, file.task),
		"inter-arrival": distance(model.gap, file.gap),
	} {
		t.Logf("%-14s %.4f", what, d)
		if d > 0.02 {
			t.Errorf("%s: distance %.4f, want at most 0.02", what, d)
		}
	}
}

func TestUniformHasItsShape(t *testing.T) {
	w := made(t, "gen:uniform,mean=10ms,spread=0.2,fanout=3,jobs=2000")
	lo, hi := int64(math.MaxInt64), int64(0)
	for _, job := range w.Jobs {
		if len(job.Durations) != 3 {
			t.Fatalf("job %d has %d tasks", job.Line, len(job.Durations))
		}
		for _, d := range job.Durations {
			lo, hi = min(lo, d), max(hi, d)
		}
	}
	if lo < 8e6 || lo > 8.01e6 || hi > 12e6 || hi < 11.99e6 {
		t.Errorf("durations from %d to %d ns, want 8 to 12 ms", lo, hi)
	}
	for _, job := range made(t, "gen:uniform,mean=10ms,spread=0,jobs=20").Jobs {
		if job.Longest() != 10e6 || job.Estimate != 10e6 {
			t.Fatalf("job %+v, want equal tasks of 10 ms", job)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"no such file", "/nowhere/x.tr", "use the path of a trace file, or gen:ec2"},
		{"a folder", t.TempDir(), "is a directory"},
		{"unknown name", "gen:ec3,jobs=5", `there is no generator "ec3"; did you mean "ec2"?`},
		{"no name", "gen:", `there is no generator ""`},
		{"unknown key", "gen:exp,job=5", `it has no key "job"; did you mean "jobs"?`},
		{"key of another", "gen:exp,burst=true", `it has no key "burst"`},
		{"no value", "gen:exp,jobs", "write jobs=VALUE"},
		{"twice", "gen:exp,jobs=5,jobs=6", `"jobs" is given twice`},
		{"twice, with a space", "gen:exp,jobs=5, jobs=5", `"jobs" is given twice`},
		{"one job", "gen:exp,jobs=1", "whole number from 2 to 10000000"},
		{"letters", "gen:exp,jobs=many", "jobs=many is not a whole number"},
		{"NaN load", "gen:exp,load=NaN", "load=NaN is not a number from 0.001"},
		{"negative seed", "gen:exp,seed=-1", "seed=-1 is not a whole number"},
		{"bare mean", "gen:exp,mean=100", "such as 100ms"},
		{"flag", "gen:ec2,burst=maybe", "burst=maybe is not true or false"},
		{"wide", "gen:uniform,fanout=100001", "from 1 to 100000"},
		{"much work", "gen:uniform,fanout=100000,mean=1000h", "4000000000 s of work in one job"},
		{"sparse", "gen:uniform,mean=1000h,fanout=1000,workers=1,load=0.001", "arrivals would pass the limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open(%q) = %v, want %q in it", tt.spec, err, tt.want)
			}
		})
	}
}

// FuzzOpen: no specification panics. Sizes are kept small by refusing the
// inputs that would ask for millions of tasks.
func FuzzOpen(f *testing.F) {
	f.Add("ec2,burst=true,seed=3")
	f.Add("exp,mean=1us,fanout=3")
	f.Add("uniform,spread=1,,load=1e3")
	f.Fuzz(func(t *testing.T, rest string) {
		if strings.Contains(rest, "jobs") || strings.Contains(rest, "fanout") {
			t.Skip("may ask for a large workload")
		}
		w, err := Open("gen:" + rest + ",jobs=20")
		if err == nil && len(w.Jobs) != 20 {
			t.Fatalf("gen:%s made %d jobs", rest, len(w.Jobs))
		}
	})
}
