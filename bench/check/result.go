package check

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sim"
)

// Result is what happened in all runs.
type Result struct {
	Policies   []Sum         `json:"policies"`   // in the order in which they were named
	Violations []Violation   `json:"violations"` // the runs that violate a check
	Took       time.Duration `json:"took_ns"`    // of all runs, in nanoseconds
}

// Sum is what happened in the runs of one policy.
type Sum struct {
	Policy     string           `json:"policy"`     // as it was named
	Runs       int              `json:"runs"`       // that came to their end
	Jobs       int              `json:"jobs"`       // accepted
	Done       int              `json:"done"`       // jobs that completed
	Failed     int              `json:"failed"`     // jobs that failed
	Cancelled  int              `json:"cancelled"`  // jobs that were cancelled
	Attempts   int              `json:"attempts"`   // that started
	Steps      int64            `json:"steps"`      // of cores
	Faults     map[string]int64 `json:"faults"`     // by kind
	Violations int              `json:"violations"` // runs that violate a check

	counts sim.FaultCounts
}

func newResult(policies []string) *Result {
	r := &Result{Violations: []Violation{}}
	for _, p := range policies {
		r.Policies = append(r.Policies, Sum{Policy: p, Faults: map[string]int64{}})
	}
	return r
}

// add adds a run of a policy.
func (r *Result) add(policy string, run *sim.Report) {
	s := r.of(policy)
	s.Runs++
	s.Jobs += run.Jobs
	s.Done += run.Done
	s.Failed += run.Failed
	s.Cancelled += run.Cancelled
	s.Attempts += run.Attempts
	s.Steps += int64(run.Steps)
	s.counts.Add(&run.Counts)
	for _, k := range (sim.AllKinds &^ sim.Drift).Each() {
		s.Faults[k.String()] = s.counts.Of(k)
	}
}

// violated adds a violation.
func (r *Result) violated(v Violation) {
	r.of(v.Policy).Violations++
	r.Violations = append(r.Violations, v)
}

func (r *Result) of(policy string) *Sum {
	return &r.Policies[slices.IndexFunc(r.Policies, func(s Sum) bool { return s.Policy == policy })]
}

// Faults returns the number of faults of all runs.
func (r *Result) Faults() (n int64) {
	for i := range r.Policies {
		n += r.Policies[i].Total()
	}
	return n
}

// Total returns the number of faults of all kinds.
func (s *Sum) Total() (n int64) {
	for _, of := range s.Faults {
		n += of
	}
	return n
}

// Total returns the sum of all policies.
func (r *Result) Total() Sum {
	all := Sum{Policy: "all", Faults: map[string]int64{}}
	for i := range r.Policies {
		s := &r.Policies[i]
		all.Runs += s.Runs
		all.Jobs += s.Jobs
		all.Done += s.Done
		all.Failed += s.Failed
		all.Cancelled += s.Cancelled
		all.Attempts += s.Attempts
		all.Steps += s.Steps
		all.Violations += s.Violations
		for kind, n := range s.Faults {
			all.Faults[kind] += n
		}
	}
	return all
}
