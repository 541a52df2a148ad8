package fairness_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/bench/fairness"
	"github.com/pigeon-sched/pigeon/cluster/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// TestFlood: two tasks submitted after 1,200 of another owner start before all but a few of
// those. They are the last to start when they are of the same owner.
func TestFlood(t *testing.T) {
	for _, policy := range []string{"pigeon", "pigeon-sort", "pigeon-x"} {
		r, err := fairness.Flood(t.Context(), fairness.FloodOptions{Policy: policy, Flood: 1200, Tasks: 2, Duration: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r.Before > 100 {
			t.Errorf("%s: %d of 1,200 tasks of the flood started between the submission of two tasks of another owner and their start", policy, r.Before)
		}
	}
}

// TestEqualOwners: four owners that always have work get equal parts of the slots, whatever
// the length of their tasks.
func TestEqualOwners(t *testing.T) {
	shares(t, fairness.SharesOptions{Tasks: 1600, Loads: []fairness.Load{
		{Owner: "a", Weight: 1, Tasks: 2000, Duration: 10 * time.Millisecond}, {Owner: "b", Weight: 1, Tasks: 2000, Duration: 10 * time.Millisecond},
		{Owner: "c", Weight: 1, Tasks: 2000, Duration: 10 * time.Millisecond}, {Owner: "d", Weight: 1, Tasks: 2000, Duration: 10 * time.Millisecond},
	}}, func(r *fairness.SharesRun) error {
		if r.Counts < 0.98 {
			return fmt.Errorf("Jain's index of the tasks is %.3f: %+v", r.Counts, r.Owners)
		}
		return nil
	})
}

// TestWeights: owners of the weights 1, 2 and 4 that always have work get 1/7, 2/7 and 4/7 of
// the tasks.
func TestWeights(t *testing.T) {
	shares(t, fairness.SharesOptions{Tasks: 2800, Loads: []fairness.Load{
		{Owner: "one", Weight: 1, Tasks: 2900, Duration: 10 * time.Millisecond}, {Owner: "two", Weight: 2, Tasks: 2900, Duration: 10 * time.Millisecond},
		{Owner: "four", Weight: 4, Tasks: 2900, Duration: 10 * time.Millisecond},
	}}, func(r *fairness.SharesRun) error {
		for _, o := range r.Owners {
			if part := float64(o.Tasks) / 2800; part < o.Share*0.9 || part > o.Share*1.1 { // equal parts would be 0.58 and 2.3 of the shares
				return fmt.Errorf("owner %s has %d of 2800 tasks, %.1f %%, more than 10 %% from its share of %.1f %%", o.Owner, o.Tasks, 100*part, 100*o.Share)
			}
		}
		return nil
	})
}

// shares measures until check accepts what the owners got, three times at most. Other programs on
// the machine make single tasks many times as long, for which their owner is charged; wrong shares
// are wrong each time.
func shares(t *testing.T, o fairness.SharesOptions, check func(*fairness.SharesRun) error) {
	t.Helper()
	var wrong []error
	for range 3 {
		r, err := fairness.Shares(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err = check(&r); err == nil {
			return
		}
		wrong = append(wrong, err)
	}
	t.Error(errors.Join(wrong...))
}
