package check

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/sim"
	"github.com/pigeon-sched/pigeon/internal/workload"
)

// All policies pass the runs of a seed, and the limit ends them.
func TestRun(t *testing.T) {
	r, err := Run(t.Context(), Options{Seed: 3, Policies: []string{"pigeon", "sparrow", "kairos"}, Faults: 600, Time: 5 * time.Second})
	if err != nil || len(r.Violations) > 0 || r.Faults() < 600 {
		t.Errorf("%d faults, %+v, %v", r.Faults(), r.Violations, err)
	}
	for _, s := range r.Policies {
		if s.Runs == 0 || s.Jobs != s.Done+s.Failed+s.Cancelled || s.Faults["loss"] == 0 {
			t.Errorf("%+v", s)
		}
	}
	var table strings.Builder
	if err := r.Write(&table, "A machine."); err != nil || !strings.Contains(table.String(), "| kairos |") || !strings.Contains(table.String(), "| crash-master |") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// Seeds that have found defects pass: a refused order that was repeated started a task a second
// time, and an overdue task that was suspended and resumed turned the simulated time back.
func TestFormerViolations(t *testing.T) {
	for _, seed := range []uint64{60005666, 70000439} {
		r, err := Run(t.Context(), Options{Seed: seed, Policies: []string{"pigeon-x"}, Faults: 1, Time: 20 * time.Second})
		if err != nil || len(r.Violations) > 0 || r.Faults() == 0 {
			t.Errorf("seed %d: %d faults, %+v, %v", seed, r.Faults(), r.Violations, err)
		}
	}
}

// A violation is counted and reported with a command that names its run, and ends the
// campaign when no more are wanted.
func TestViolation(t *testing.T) {
	var found []Violation
	o := Options{Seed: 7, Policies: []string{"pigeon"}, For: time.Minute, Most: 1, Found: func(v Violation) { found = append(found, v) }}
	o.simulate = func(_ *experiment.Run, _ context.Context, _ *workload.Workload, _ time.Duration, f sim.Faults) (*sim.Report, sim.Faults, int, error) {
		f.Only, f.Kinds = []int{4, 9}, sim.CrashNode
		return &sim.Report{Checks: []sim.Check{{Name: "a check", Violated: errors.New("a job is lost")}}}, f, 3, nil
	}
	r, err := Run(t.Context(), o)
	if err != nil || len(r.Violations) == 0 || len(found) != len(r.Violations) || r.Policies[0].Violations != len(found) {
		t.Fatalf("%+v, %+v, %v", r, found, err)
	}
	for _, part := range []string{"pigeon sim --policy pigeon --faults ", "--fault-kinds crash-node", "--only-faults 4,9", "--jobs 3", "--workers ", "--seed "} {
		if !strings.Contains(found[0].Command, part) {
			t.Errorf("%q does not contain %q", found[0].Command, part)
		}
	}
}

// The command of a violation names fewer jobs: these must be the jobs of the longer run.
func TestFirstJobsStay(t *testing.T) {
	for seed := range uint64(20) {
		all, err := prepare("pigeon", seed)
		must(t, err)
		some, err := prepareFirst("pigeon", seed, 7)
		must(t, err)
		if a, b := all.workload.Simulated()[:7], some.workload.Simulated(); !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: the first jobs are %v, and alone %v", seed, a, b)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	for _, policies := range [][]string{nil, {"pigoen"}, {"hawk", "pigeon", "hawk"}} {
		if r, err := Run(t.Context(), Options{Policies: policies, Faults: 1}); err == nil {
			t.Errorf("%v: %+v", policies, r)
		}
	}
}
