package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/nearest"
)

// Generator describes a built-in workload for help texts.
type Generator struct {
	// Name follows gen: in a specification.
	Name string
	// About is a line about its jobs and the keys that it accepts beyond
	// jobs, load, workers and seed, which all accept.
	About string
	// Cutoff separates its short jobs from its long ones; 0: it has no classes.
	Cutoff time.Duration

	// body reads the generator's own keys and returns what fills in the
	// estimate and durations of job i of n.
	body func(*spec) bodyFunc
	jobs int // default number of jobs
}

// bodyFunc returns the durations (ns) of job i of n.
type bodyFunc func(r *rand.Rand, i, n int) []int64

// Generators lists the names of gen:NAME. All accept the keys
//
//	jobs     number of jobs
//	load     work / (workers x span of arrivals), 0.9
//	workers  what the load refers to, 120
//	seed     1
//
// and draw Poisson arrivals. A job's estimate is the mean of its durations.
func Generators() []Generator {
	return []Generator{
		{Name: "ec2", jobs: 5000, body: ec2Body, Cutoff: time.Second,
			About: "short and long jobs like the paper's EC2 experiment (cutoff 1 s); burst=true: long jobs in the first sixth, as in the files"},
		{Name: "exp", jobs: 5000, body: expBody,
			About: "exponential durations; mean=200ms; fanout=N (default: drawn from 1 to 9)"},
		{Name: "uniform", jobs: 5000, body: uniformBody,
			About: "durations uniform on mean (1 +- spread); mean=100ms, spread=0.5 (0: all equal), fanout=10"},
		{Name: "yahoo", jobs: 5001, body: yahooBody, Cutoff: time.Second,
			About: "short and long jobs like the sample of the Yahoo trace (cutoff 1 s)"},
		{Name: "google", jobs: 10000, body: googleBody, Cutoff: 1129532 * time.Millisecond,
			About: "short and long jobs like the sample of the Google trace (cutoff 1129.532 s; --workers 5000)"},
	}
}

func generate(full, rest string) (*Workload, error) {
	name, arguments, _ := strings.Cut(rest, ",")
	generators := Generators()
	names := make([]string, len(generators))
	for i, g := range generators {
		names[i] = g.Name
		if g.Name == name {
			return g.build(parseSpec("generate", full, arguments))
		}
	}
	return nil, fmt.Errorf("cannot generate %s: there is no generator %q; did you mean %q? There are %s (no job was run)",
		full, name, nearest.Word(name, names), strings.Join(names, ", "))
}

func (g Generator) build(s *spec) (*Workload, error) {
	jobs := s.whole("jobs", g.jobs, 2, MaxJobs)
	load := s.number("load", 0.9, 0.001, 1000)
	workers := s.whole("workers", 120, 1, 1_000_000)
	seed := s.seed()
	body := g.body(s)
	if err := s.err(); err != nil {
		return nil, err
	}
	w := &Workload{Name: s.full, Jobs: make([]Job, jobs)}
	draw, tasks := newRand(seed, streamJobs), 0
	for i := range w.Jobs {
		durations := body(draw, i, jobs)
		if tasks += len(durations); tasks > MaxTasks {
			return nil, fmt.Errorf("cannot generate %s: it exceeds the limit of %d tasks at job %d of %d; no job was run; ask for fewer jobs or a smaller fanout",
				s.full, MaxTasks, i+1, jobs)
		}
		if sum(durations) > MaxSeconds*1e9 {
			return nil, fmt.Errorf("cannot generate %s: job %d exceeds the limit of %d s of work in one job; no job was run; ask for a smaller mean or fanout",
				s.full, i+1, MaxSeconds)
		}
		w.Jobs[i] = Job{Durations: durations, Estimate: int64(sum(durations)) / int64(len(durations))}
	}
	w.number()
	w.arrive(seed)
	return w.Scale(load, workers)
}

// sum adds durations without overflow.
func sum(durations []int64) float64 {
	total := 0.0
	for _, d := range durations {
		total += float64(d)
	}
	return total
}

// expBody: exponential durations. Without fanout the number of tasks is
// floor(10 u), at least 1, for u uniform on [0,1): what exp_50 shows.
func expBody(s *spec) bodyFunc {
	mean := s.duration("mean", 200e6)
	fanout := s.whole("fanout", 0, 1, MaxTasksPerJob)
	return func(r *rand.Rand, _, _ int) []int64 {
		n := fanout
		if n == 0 {
			n = max(1, r.IntN(10))
		}
		durations := make([]int64, n)
		for k := range durations {
			durations[k] = nanos(mean * exponential(r))
		}
		return durations
	}
}

// uniformBody: durations uniform on mean (1 +- spread), a fixed fan-out.
func uniformBody(s *spec) bodyFunc {
	mean := s.duration("mean", 100e6)
	spread := s.number("spread", 0.5, 0, 1)
	fanout := s.whole("fanout", 10, 1, MaxTasksPerJob)
	return func(r *rand.Rand, _, _ int) []int64 {
		durations := make([]int64, fanout)
		for k := range durations {
			offset := float64(2*r.Float64()) - 1
			durations[k] = nanos(mean * (1 + float64(spread*offset)))
		}
		return durations
	}
}
