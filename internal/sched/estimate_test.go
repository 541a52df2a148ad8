package sched_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// docs/design.md: "Where an order needs an estimate and none is given, the cutoff is used." What
// counts is in the range that policies may add up.
func TestEstimateOf(t *testing.T) {
	p := sched.Params{Cutoff: sched.Second}
	for stated, want := range map[sched.Time]sched.Time{
		-1: sched.Second, 0: sched.Second, 1: 1, 2 * sched.Second: 2 * sched.Second,
		sched.MaxEstimate: sched.MaxEstimate, sched.MaxEstimate + 1: sched.MaxEstimate,
	} {
		if got := p.EstimateOf(stated); got != want {
			t.Errorf("a task of the stated estimate %d counts by %d, want %d", stated, got, want)
		}
	}
	if got := (sched.Params{}).EstimateOf(0); got != 1 {
		t.Errorf("without cutoff and estimate a task counts by %d, want 1", got)
	}
}
