package pigeon_test

import (
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// fanoutRig is a master with order=fanout and workers.
func fanoutRig(t *testing.T, slots ...slots) *rig {
	r := newRig(t, 0)
	r.master = pigeon.NewMasterWith(sched.MasterConfig{Params: sched.Params{Cutoff: sched.Second}}, pigeon.Options{Fanout: true})
	for _, g := range slots {
		for range g.count {
			r.up(g)
		}
	}
	return r
}

// docs/policies.md, pigeon: "`order=fanout` serves the short queue by the number of a job's
// tasks that wait there, the fewest first"; the long queue stays first in, first out.
func TestFanoutOrder(t *testing.T) {
	r := fanoutRig(t, general(1))
	r.tasks(1, sched.Short, 4) // one of which runs
	r.tasks(2, sched.Long, 2)
	r.tasks(3, sched.Short, 2)
	r.tasks(4, sched.Short, 2)
	r.tasks(5, sched.Long, 1)
	r.tasks(6, sched.Short, 1)
	var got []string
	for range 10 {
		got = append(got, r.ends(0)...)
	}
	if want := []string{"0:6/0", "0:3/0", "0:3/1", "0:4/0", "0:4/1", "0:1/1", "0:1/2", "0:1/3", "0:2/0", "0:2/1"}; !slices.Equal(got, want) {
		t.Errorf("%v run, want %v", got, want)
	}
}

// "a job that has waited for 20 cutoffs goes first": smaller jobs do not starve it.
func TestFanoutStarvesNone(t *testing.T) {
	r := fanoutRig(t, general(1))
	r.tasks(1, sched.Short, 100)
	began := r.now
	for job := uint64(2); ; job++ {
		r.tasks(job, sched.Short, 1)
		got := r.ends(0)
		if slices.Equal(got, []string{"0:1/1"}) {
			break
		}
		if r.now += sched.Second; r.now-began > 22*sched.Second {
			t.Fatalf("after 22 s the job of 100 tasks waits still, and %v runs", got)
		}
	}
	if waited := r.now - began; waited < 19*sched.Second {
		t.Errorf("the job of 100 tasks goes first after %.1f s", waited.Seconds())
	}
}
