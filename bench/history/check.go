package history

import (
	"cmp"
	"slices"
)

// Finding is a contradiction.
type Finding struct {
	Check  string `json:"check"` // name of the check
	What   string `json:"what"`  // a sentence
	At     Time   `json:"-"`
	Faults int    `json:"faults"` // how many faults had begun then: the shortest known beginning of the programme of faults that led to it
}

// Check is a named check.
type Check struct {
	Name  string
	Means string // what must hold
	run   func(*Run) []Finding
}

// Of returns the findings of the check.
func (c Check) Of(r *Run) []Finding {
	list := c.run(r)
	for i := range list {
		list[i].Check, list[i].Faults = c.Name, r.begun(list[i].At)
	}
	return list
}

// Names of the checks that are counted by name.
const (
	StartsOnce = "an attempt starts once"
	EndsOnce   = "ran twice"
)

// Checks returns all checks.
func Checks() []Check {
	return []Check{
		{"jobs were accepted", "a job is accepted: the checks hold of a run without one, and it shows nothing", jobsAccepted},
		{"faults took place", "one of the faults of the programme was injected: without it the run shows nothing about faults", faultsTookPlace},
		{"accepted jobs end", "every accepted job ends", acceptedJobsEnd},
		{"jobs are known", "a frontend knows a job that it has accepted, under one id, unless its journal was lost since", jobsAreKnown},
		{"submissions are accepted after healing", "a job that its client still submits five seconds after the last fault is accepted", submissionsAccepted},
		{"jobs complete", "a job completes unless it was cancelled, or one of its tasks took down three nodes", jobsComplete},
		{"completed tasks ran", "every task of a completed job that writes a history has run to its end", completedTasksRan},
		{"Spark jobs complete", "every job of a Spark application completes", sparkJobsComplete},
		{"one result", "one accepted result a task", oneResult},
		{StartsOnce, "an attempt number of a task starts at most once", attemptsStartOnce},
		{"slots hold one", "attempts of one slot do not overlap", slotsHoldOne},
		{EndsOnce, "a task runs to its end twice only when a node of it was lost, paused or partitioned, or was stopped while the first was ending or while no frontend could accept its result, or its job was not accepted yet", ranTwice},
		{"reserved slots", "reserved workers run no long task", reservedSlots},
		{"epochs rise", "the epoch and the sequence numbers of a slot never go back", epochsRise},
		{"no worker leaked", "after all faults and all jobs have ended, every worker is there and idle and requests no task, as every frontend and node reports", noWorkerLeaked},
		{"work conservation", "after all faults have ended, no worker stays idle for more than 2 s while a task waits that it may run (where tasks wait at masters, and not for executors of Spark)", workConservation},
		{"throughput", "from five seconds after the last fault on, tasks end at the rate at which they arrive", throughput},
		{"cancel is final", "no task of a cancelled job starts more than 2 s after the answer and the end of the faults", cancelIsFinal},
		{"flat", "memory, goroutines and descriptors do not grow", flat},
		{"processes", "daemons end when they are asked to, and only then", processes},
	}
}

// All returns the findings of all checks, in order of time.
func All(r *Run) (list []Finding) {
	for _, c := range Checks() {
		list = append(list, c.Of(r)...)
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	return list
}

// begun returns how many faults had begun at a time; all of them at time 0.
func (r *Run) begun(at Time) (n int) {
	for _, f := range r.Faults {
		if at == 0 || f.From <= at {
			n = max(n, f.Number)
		}
	}
	return n
}
