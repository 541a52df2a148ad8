package main

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/measure"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// summary is what "trace inspect" prints; times in seconds.
type summary struct {
	Trace   string       `json:"trace"`   // file or generator
	Jobs    int          `json:"jobs"`    // in all
	Tasks   int          `json:"tasks"`   // in all
	Work    float64      `json:"work"`    // sum of all task durations
	Span    float64      `json:"span"`    // from the first to the last arrival
	Load    float64      `json:"load"`    // work / (workers x span); 0 when all arrive at once
	Workers int          `json:"workers"` // of the load
	Cutoff  float64      `json:"cutoff"`  // of the classes, on the mean task duration
	Short   classSummary `json:"short"`   // short jobs
	Long    classSummary `json:"long"`    // long jobs
	All     classSummary `json:"all"`     // all jobs

	Owners []ownerSummary `json:"owners,omitempty"` // of workloads whose jobs have owners
}

// ownerSummary is what one owner submits.
type ownerSummary struct {
	Owner      string  `json:"owner"`       // its path; "" for nobody in particular
	Jobs       int     `json:"jobs"`        // in all
	Tasks      int     `json:"tasks"`       // in all
	WorkShare  float64 `json:"work_share"`  // share of all work
	ShortShare float64 `json:"short_share"` // share of the work of short jobs
}

type classSummary struct {
	Jobs      int     `json:"jobs"`       // of the class
	Tasks     int     `json:"tasks"`      // of the class
	WorkShare float64 `json:"work_share"` // share of all work
	Fanout    spread  `json:"fanout"`     // tasks of a job
	Duration  spread  `json:"duration"`   // seconds of a task
}

// spread is missing as a whole when there is nothing to describe.
type spread struct {
	P50 measure.Number `json:"p50"` // median
	P90 measure.Number `json:"p90"` // 90th percentile
	P99 measure.Number `json:"p99"` // 99th percentile
	Max measure.Number `json:"max"` // greatest
}

func summarize(w *workload.Workload, workers int, cutoff time.Duration) summary {
	s := summary{
		Trace: w.Name, Jobs: len(w.Jobs), Tasks: w.Tasks(), Work: w.Work() / 1e9, Span: float64(w.Span()) / 1e9,
		Load: w.Load(workers), Workers: workers, Cutoff: cutoff.Seconds(),
	}
	s.Short = summarizeClass(w, func(j *workload.Job) bool { return !j.TrueLong })
	s.Long = summarizeClass(w, func(j *workload.Job) bool { return j.TrueLong })
	s.All = summarizeClass(w, func(*workload.Job) bool { return true })
	s.Owners = summarizeOwners(w)
	return s
}

func summarizeOwners(w *workload.Workload) []ownerSummary {
	names := w.Owners()
	list := make([]ownerSummary, len(names))
	short := 0.0
	for i := range w.Jobs {
		j := &w.Jobs[i]
		k, ok := slices.BinarySearch(names, j.Owner)
		if !ok {
			continue
		}
		list[k].Jobs++
		list[k].Tasks += len(j.Durations)
		list[k].WorkShare += float64(j.Work())
		if !j.TrueLong {
			list[k].ShortShare += float64(j.Work())
			short += float64(j.Work())
		}
	}
	for k := range list {
		list[k].Owner = names[k]
		list[k].WorkShare /= max(1, w.Work())
		list[k].ShortShare /= max(1, short)
	}
	return list
}

func summarizeClass(w *workload.Workload, belongs func(*workload.Job) bool) classSummary {
	var c classSummary
	var fanouts []int64
	var durations []int64
	work := 0.0
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if !belongs(j) {
			continue
		}
		c.Jobs++
		c.Tasks += len(j.Durations)
		work += float64(j.Work())
		fanouts = append(fanouts, int64(len(j.Durations)))
		durations = append(durations, j.Durations...)
	}
	if all := w.Work(); all > 0 {
		c.WorkShare = work / all
	}
	c.Fanout, c.Duration = spreadOf(fanouts, 1), spreadOf(durations, 1e9)
	return c
}

// spreadOf sorts values and divides the spread by unit.
func spreadOf(values []int64, unit float64) spread {
	slices.Sort(values)
	at := func(p float64) measure.Number { return measure.Number(measure.Percentile(values, p) / unit) }
	return spread{P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}
