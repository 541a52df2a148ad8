package measure

import (
	"fmt"
	"io"

	"github.com/pigeon-sched/pigeon/internal/workload"
)

// WideResult is what a run gave to tasks of several slots, to gangs, and to the jobs beside them.
type WideResult struct {
	Tasks         int          `json:"tasks"`          // of several slots, without those of gangs
	Wait          Distribution `json:"wait"`           // seconds from the arrival of a job to the start of each of them
	Reference     Distribution `json:"reference"`      // the same under an offline EASY backfill that knows every duration, with the same choice of group
	Gangs         int          `json:"gangs"`          // jobs whose tasks start together
	GangWait      Distribution `json:"gang_wait"`      // seconds from the arrival of a gang to the start of its last task
	GangReference Distribution `json:"gang_reference"` // the same under that backfill
	Unit          ByClass      `json:"unit"`           // completion times of the other jobs
	Held          Number       `json:"held"`           // share of the slots' time in which they were idle because of claims although a unit task waited

	UnitSplit *ByClass `json:"unit_split,omitempty"` // in a comparison, the completion times of the same jobs where the work of the others is in unit tasks
}

// Waits describes the starts of tasks with a demand, of which each slice has one entry for every task of
// the workload: delays since the arrival of their jobs (ns). A negative one never started.
func Waits(w *workload.Workload, delays, reference []int64, speedup float64) *WideResult {
	r := &WideResult{}
	unit := second * speedup
	var wide, gangs [2][]int64
	task := 0
	for i := range w.Jobs {
		j := &w.Jobs[i]
		var last [2]int64
		for range j.Durations {
			for k, list := range [2][]int64{delays, reference} {
				last[k] = max(last[k], list[task])
				if j.Slots > 1 && !j.Gang && list[task] >= 0 {
					wide[k] = append(wide[k], list[task])
				}
			}
			task++
		}
		for k := range last {
			if j.Gang {
				gangs[k] = append(gangs[k], last[k])
			}
		}
	}
	r.Tasks, r.Gangs = len(wide[0]), len(gangs[0])
	r.Wait, r.Reference = Describe(wide[0], unit), Describe(wide[1], unit)
	r.GangWait, r.GangReference = Describe(gangs[0], unit), Describe(gangs[1], unit)
	return r
}

// Print prints the waits beside those of the reference, for a terminal.
func (r *WideResult) Print(out io.Writer) {
	line := func(count int, what string, wait, reference *Distribution) {
		if count > 0 {
			fmt.Fprintf(out, "  %d %s waited %s s on average, p99 %s s (an offline backfill: %s s and %s s)\n", count, what,
				significant(wait.Mean), significant(wait.P99), significant(reference.Mean), significant(reference.P99))
		}
	}
	line(r.Tasks, "tasks of several slots", &r.Wait, &r.Reference)
	line(r.Gangs, "gangs", &r.GangWait, &r.GangReference)
	fmt.Fprintf(out, "  other short jobs took %s s on average, p99 %s s; slots were held back beside waiting unit tasks for %.3f %% of their time\n",
		significant(r.Unit.Short.Mean), significant(r.Unit.Short.P99), 100*float64(r.Held))
}
