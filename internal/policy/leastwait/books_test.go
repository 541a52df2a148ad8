package leastwait_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/eagle"
	"github.com/pigeon-sched/pigeon/internal/policy/hawk"
	"github.com/pigeon-sched/pigeon/internal/policy/leastwait"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Each class has its book, and only what is probed for has a view of late binding.
func TestBooksAndViews(t *testing.T) {
	for _, p := range []sched.Policy{hawk.Policy(hawk.Defaults()), eagle.Policy(eagle.Defaults())} {
		d, ok := p.NewDistributor(sched.DistributorConfig{Params: sched.Params{Cutoff: sched.Second}}).(*leastwait.Distributor)
		if !ok {
			t.Fatal(p.Name)
		}
		var out sched.Actions
		for class := range sched.Class(sched.NumClasses) {
			d.Step(0, sched.Addr{}, &sched.Message{Kind: sched.Submit, Job: job(uint64(class) + 1), Class: class, Count: 3 + int32(class)}, &out)
		}
		for class, l := range d.Ledgers() {
			if l.Jobs() != 1 || l.Tasks() != 3+class || l.Job(job(uint64(class)+1)) == nil {
				t.Errorf("%s: the book of class %d has %d jobs and %d tasks", p.Name, class, l.Jobs(), l.Tasks())
			}
		}
		if v, ok := d.View(job(uint64(sched.Short)+1), 9); !ok || v.Unbound != 3 || !v.Waiting {
			t.Errorf("%s: the short job is %+v, %v", p.Name, v, ok)
		}
		if v, ok := d.View(job(uint64(sched.Long)+1), 9); ok {
			t.Errorf("%s: the long job is %+v", p.Name, v)
		}
	}
}
