package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Wide makes jobs demand more than a slot for each task.
type Wide struct {
	// Share is that of all work which becomes work of such jobs.
	Share float64 `json:"share"`
	// Least and Most are what is drawn for each of them: the slots of its tasks, or the tasks of a
	// gang.
	Least int `json:"least"`
	Most  int `json:"most"`
	// Split makes unit tasks of the same work instead, to compare with: a task of k slots becomes k
	// tasks, and the tasks of a gang start one by one.
	Split bool `json:"split,omitempty"`
}

// ParseWide reads SHARE:LEAST-MOST[,split=true], or SHARE:NUMBER; flag names it in errors.
func ParseWide(flag, text string) (*Wide, error) {
	size, rest, _ := strings.Cut(text, ",")
	share, sizes, _ := strings.Cut(size, ":")
	least, most, isRange := strings.Cut(sizes, "-")
	if !isRange {
		most = least
	}
	s := parseSpec("give jobs the demands of "+flag, text, fmt.Sprintf("share=%s,least=%s,most=%s,%s", share, least, most, rest))
	w := &Wide{Share: s.number("share", 0, 0, 1), Least: s.whole("least", 1, 1, sched.MaxSlots), Most: s.whole("most", 1, 1, sched.MaxSlots), Split: s.flag("split")}
	if s.err() == nil && (w.Most < w.Least || sizes == "") {
		s.failf("it has no range; write %s 0.1:2-8", flag)
	}
	return w, s.failed
}

// Demand gives tasks of several slots to some jobs and makes gangs of others, and then scales arrivals
// so that the load stays. Nil changes nothing.
func (w *Workload) Demand(wide, gangs *Wide, seed uint64, workers int) (*Workload, error) {
	if wide == nil && gangs == nil {
		return w, nil
	}
	load := w.Load(workers)
	out, chosen := w.with(), make([]bool, len(w.Jobs))
	for i := range out.Jobs {
		chosen[i] = !out.Jobs[i].IsUnit() // by the trace
	}
	if wide != nil {
		out.choose(wide, chosen, seed, streamWide, func(j *Job, n int) {
			if j.Slots = int32(n); wide.Split { //nolint:gosec // at most MaxSlots
				j.Slots, j.Durations = 0, slices.Repeat(j.Durations, n)
			}
		})
	}
	if gangs != nil {
		out.choose(gangs, chosen, seed, streamGangs, func(j *Job, n int) {
			j.Durations, j.Gang = slices.Repeat([]int64{j.Mean()}, n), !gangs.Split
		})
	}
	if load == 0 {
		return out, nil
	}
	return out.Scale(load, workers)
}

// choose changes jobs in the order of their lots until those that changed have the share of all work.
// A job that would exceed it is passed over.
func (w *Workload) choose(o *Wide, chosen []bool, seed, stream uint64, change func(*Job, int)) {
	type lot struct {
		at, size int
		draw     float64
	}
	lots := make([]lot, 0, len(w.Jobs))
	all := w.Work()
	for i := range w.Jobs {
		r := newRand(seed, stream<<32+uint64(w.Jobs[i].Line)) //nolint:gosec // a line number
		if draw, size := r.Float64(), o.Least+r.IntN(o.Most-o.Least+1); !chosen[i] {
			lots = append(lots, lot{i, size, draw})
		}
	}
	slices.SortFunc(lots, func(a, b lot) int {
		if a.draw < b.draw {
			return -1
		}
		return 1
	})
	taken := 0.0
	for _, l := range lots {
		j := w.Jobs[l.at]
		change(&j, l.size)
		before, work := float64(w.Jobs[l.at].Work()), float64(j.Work())
		if len(j.Durations) <= MaxTasksPerJob && taken+work <= o.Share*(all-before+work) {
			w.Jobs[l.at], chosen[l.at] = j, true
			taken += work
			all += work - before
		}
	}
}
