package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pigeon-sched/pigeon/bench/chaos/network"
	"github.com/pigeon-sched/pigeon/bench/history"
	"github.com/pigeon-sched/pigeon/internal/measure"
)

// Result is the outcome of a run.
type Result struct {
	Policy   string  `json:"policy"`   // as it was named
	Seed     uint64  `json:"seed"`     // of the programme of faults and of the jobs
	Binary   string  `json:"binary"`   // the daemons' program; empty: the program that ran this
	Beside   string  `json:"beside"`   // program of every second daemon of a role; empty: the same
	Standbys bool    `json:"standbys"` // of masters and frontends, and three NATS servers with JetStream
	Seconds  float64 `json:"seconds"`  // from the first job to the end of the last
	Rate     float64 `json:"rate"`     // faults a second
	Command  string  `json:"command"`  // runs the same programme again

	Faults  map[string]int `json:"faults"`   // injected, by kind
	Void    int            `json:"void"`     // planned, but the victim did not run then
	LeftOut []string       `json:"left_out"` // what could not be injected here, and why

	Jobs      int `json:"jobs"`      // submitted
	Accepted  int `json:"accepted"`  // of them
	Completed int `json:"completed"` // of them
	Cancelled int `json:"cancelled"` // of them
	Failed    int `json:"failed"`    // of them
	Lost      int `json:"lost"`      // accepted, and not ended
	Tasks     int `json:"tasks"`     // of the accepted jobs
	Attempts  int `json:"attempts"`  // starts of programs, of the tasks that write histories

	StartedTwice int `json:"started_twice"` // attempt numbers that started more than once
	RanTwice     int `json:"ran_twice"`     // tasks that ran to their end more than once
	Unexplained  int `json:"unexplained"`   // of them, while no node of the task was lost, paused or out of reach

	Applications   int `json:"applications"`    // of Spark
	SparkJobs      int `json:"spark_jobs"`      // of them
	SparkCompleted int `json:"spark_completed"` // of these jobs

	Recovery []Recovery        `json:"recovery"` // times by kind
	Stall    float64           `json:"stall"`    // the longest that this program itself was late after healing, seconds
	Packets  network.Counts    `json:"packets"`  // what the switch between the hosts did
	Findings []history.Finding `json:"findings"` // contradictions
	Dir      string            `json:"dir"`      // what is kept of a failed run
	Shortest int               `json:"shortest"` // the shortest beginning of the programme that is known to fail, in faults
}

// Recovery is how long the recoveries of a kind took.
type Recovery struct {
	Kind    string         `json:"kind"`    // from what to what
	Samples []float64      `json:"samples"` // seconds
	P50     measure.Number `json:"p50"`     // seconds
	P99     measure.Number `json:"p99"`     // seconds
	Max     measure.Number `json:"max"`     // seconds
}

// The kinds of recovery.
const (
	recoveryTask     = "process of a task killed to the task started again"
	recoveryGuard    = "guard killed to a task of it started again"
	recoveryNode     = "node killed to a task of it started again"
	recoveryFrontend = "frontend started again to serving"
	recoveryMaster   = "master started again to the first start of a task in its group"
)

// recoveryKinds are all kinds, in the order of the report.
var recoveryKinds = []string{recoveryTask, recoveryGuard, recoveryNode, recoveryFrontend, recoveryMaster}

// injected counts the faults that were injected.
func (r *Result) injected() (n int) {
	for _, of := range r.Faults {
		n += of
	}
	return n
}

// summarize fills the figures of a result from the record of the run.
func (r *Result) summarize(run *history.Run) {
	r.Faults = map[string]int{}
	for _, f := range run.Faults {
		if f.Void {
			r.Void++
			continue
		}
		r.Faults[f.Kind]++
	}
	for _, j := range run.Jobs {
		r.Jobs++
		if j.Accepted == 0 {
			continue
		}
		r.Accepted++
		r.Tasks += j.Tasks
		switch {
		case j.Ended == 0:
			r.Lost++
		case j.State == "completed":
			r.Completed++
		case j.State == "cancelled":
			r.Cancelled++
		default:
			r.Failed++
		}
	}
	for _, j := range run.SparkJobs {
		r.SparkJobs++
		r.Applications = max(r.Applications, j.Application+1)
		if j.State == "completed" {
			r.SparkCompleted++
		}
	}
	for _, e := range run.Events {
		if e.Event == history.Start {
			r.Attempts++
		}
	}
	r.RanTwice, r.Findings = run.RanTwice(), append([]history.Finding{}, history.All(run)...)
	for i, f := range r.Findings {
		if i == 0 || f.Faults < r.Shortest {
			r.Shortest = f.Faults
		}
		switch f.Check {
		case history.StartsOnce:
			r.StartedTwice++
		case history.EndsOnce:
			r.Unexplained++
		}
	}
}

func recovery(kind string, seconds []float64) Recovery {
	slices.Sort(seconds)
	at := func(q float64) measure.Number {
		return measure.Number(seconds[min(int(q*float64(len(seconds))), len(seconds)-1)])
	}
	return Recovery{kind, seconds, at(0.5), at(0.99), at(1)}
}

// command returns the command that runs the programme again.
func (o *Options) command(kinds []string) string {
	text := fmt.Sprintf("pigeon-bench chaos --seed %d --policy %s --minutes %v --rate %v --jobs %v", o.Seed, cmp.Or(o.Policy, "pigeon"), o.Lasts.Minutes(), o.Rate, o.Jobs)
	if o.Faults > 0 {
		text += fmt.Sprintf(" --faults %d", o.Faults)
	}
	if o.Standbys {
		text += " --standbys"
	}
	if o.Binary != "" {
		text += " --binary " + o.Binary
	}
	if o.JournalFaults != "" {
		text += " --journal-faults " + o.JournalFaults
	}
	if o.Beside != "" {
		text += " --beside " + o.Beside
	}
	if o.Spark != nil {
		text += fmt.Sprintf(" --spark %d", o.Spark.Count)
	}
	return text + " --kinds " + strings.Join(kinds, ",") // a later version may have more kinds
}
