package leastwait_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/eagle"
	"github.com/pigeon-sched/pigeon/internal/policy/hawk"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Short jobs are bound late, long ones early, and the sums are over both.
func TestViewsOfBothClasses(t *testing.T) {
	for _, p := range []sched.Policy{hawk.Policy(hawk.Defaults()), eagle.Policy(eagle.Defaults())} {
		d := p.NewDistributor(sched.DistributorConfig{Params: sched.Params{Cutoff: sched.Second}})
		var out sched.Actions
		for class := range sched.Class(sched.NumClasses) {
			d.Step(0, sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: job(uint64(class) + 1), Class: class, Count: 3 + int32(class)}, &out)
		}
		if o := d.Owed(); o != (sched.Owed{Jobs: 2, Tasks: 7}) {
			t.Errorf("%s: owed are %+v", p.Name, o)
		}
		if v, ok := d.JobView(job(uint64(sched.Short)+1), 9); !ok || !v.Late || v.Unbound != 3 || !v.NoWorker {
			t.Errorf("%s: the short job is %+v, %v", p.Name, v, ok)
		}
		if v, ok := d.JobView(job(uint64(sched.Long)+1), 9); !ok || v.Late || v.Unbound != 4 || v.Bound != 0 {
			t.Errorf("%s: the long job is %+v, %v", p.Name, v, ok)
		}
		if v, ok := d.JobView(job(99), 9); ok {
			t.Errorf("%s: a job that it does not have is %+v", p.Name, v)
		}
	}
}
