package pigeon_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// newSorted is newRig for pigeon-sort with a cutoff of 1,000.
func newSorted(t tester, o pigeon.Options, groups ...slots) *rig {
	r := newRig(t, 0)
	r.master = pigeon.NewMasterWith(sched.MasterConfig{Self: group(1), Params: sched.Params{Cutoff: 1000}}, o)
	for _, g := range groups {
		for range g.count {
			r.up(g)
		}
	}
	return r
}

// byAge returns options of pigeon-sort with long jobs in the order of docs/policies.md.
func byAge(aging int) pigeon.Options {
	o := pigeon.DefaultOptions()
	o.Tail, o.Aging = false, aging
	return o
}

// job sends a job at its arrival and returns the tasks that were launched.
func (r *rig) job(id uint64, class sched.Class, count int32, estimate sched.Time) []string {
	r.t.Helper()
	return launches(r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: id}, Class: class, Count: count, Attempt: 1, Distributor: distributor, Estimate: estimate, Arrival: r.now + 1,
	}))
}

// order ends worker 0 until nothing is launched any more, and returns the launches.
func (r *rig) order() (list []string) {
	r.t.Helper()
	for {
		next := r.ends(0)
		if len(next) == 0 {
			return list
		}
		list = append(list, next...)
	}
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: launched %q, want %q", what, got, want)
	}
}

// docs/policies.md, pigeon-sort: "Short queue: serves first the task whose job has the
// least estimated work still queued at this master: estimate x tasks of the job in
// this queue. FIFO within a job; ties by arrival of the job's entry."
func TestShortQueueByQueuedWork(t *testing.T) {
	r := newSorted(t, pigeon.DefaultOptions(), general(1))
	r.job(9, sched.Short, 1, 1)
	r.job(1, sched.Short, 3, 10) // 30
	r.job(2, sched.Short, 1, 25) // 25
	r.job(3, sched.Short, 5, 5)  // 25, later
	r.job(4, sched.Short, 1, 29) // 29
	expect(t, "short", r.order(), []string{"0:2/0", "0:3/0", "0:3/1", "0:3/2", "0:3/3", "0:3/4", "0:4/0", "0:1/0", "0:1/1", "0:1/2"})
}

// docs/policies.md, pigeon-sort: "Long queue: serves first the task with the smallest
// index. ... *By age* (`tail=no`, or any `aging`): e x u / (a + 30 cutoffs + 2 r)^p ...
// 0 is pure least remaining work". With p = 2 a job that has waited is served before a
// smaller one that came 100 cutoffs later.
func TestLongQueueAges(t *testing.T) {
	for _, c := range []struct {
		aging int
		want  []string
	}{
		{0, []string{"0:2/0", "0:1/0"}},
		{2, []string{"0:1/0", "0:2/0"}},
	} {
		r := newSorted(t, byAge(c.aging), general(1))
		r.job(9, sched.Short, 1, 1)
		r.job(1, sched.Long, 1, 4000)
		r.now += 100_000
		r.job(2, sched.Long, 1, 2000)
		expect(t, "long", r.order(), c.want)
	}
}

// A worker that registers with a task of a job does not know when the job arrived; its distributor
// states that.
func TestArrivalIsStatedLater(t *testing.T) {
	r := newSorted(t, byAge(2), general(1))
	r.job(9, sched.Short, 1, 1)
	r.now += 1_000_000
	r.step(sched.Addr{}, &sched.Message{
		Kind: sched.WorkerUp, Peer: worker(1), Node: "n", Serves: []string{""}, Job: jobOne, Attempt: 1, Class: sched.Long, Estimate: 4000, Distributor: distributor, Seq: 5,
	})
	r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: jobOne, First: 1, Count: 1, Attempt: 1, Class: sched.Long, Estimate: 4000, Distributor: distributor, Arrival: r.now,
	})
	r.job(2, sched.Long, 1, 2000)
	expect(t, "the smaller of two that have just arrived is first", r.order(), []string{"0:2/0", "0:1/1"})
}

// By the tail a job that has waited gains while it can still end by 54 cutoffs: one
// of 10 cutoffs that came 29 ago has 10 left after its 1.5 r, and is served before
// one of 4 that came now, which has 48. A large one that is late anyway gains
// little: one of two tasks of 60 cutoffs that came 200 ago is served after one of
// 2, where age would put it first.
func TestLongQueueByTail(t *testing.T) {
	for _, c := range []struct {
		first, second, wait sched.Time
		count               int32
		want, byAge         []string
	}{
		{10_000, 4000, 29_000, 1, []string{"0:1/0", "0:2/0"}, []string{"0:1/0", "0:2/0"}},
		{10_000, 1000, 29_000, 1, []string{"0:2/0", "0:1/0"}, []string{"0:2/0", "0:1/0"}},
		{60_000, 2000, 200_000, 2, []string{"0:2/0", "0:1/0", "0:1/1"}, []string{"0:1/0", "0:1/1", "0:2/0"}},
	} {
		for _, o := range []pigeon.Options{pigeon.DefaultOptions(), byAge(2)} {
			r := newSorted(t, o, general(1))
			r.job(9, sched.Short, 1, 1)
			r.job(1, sched.Long, c.count, c.first)
			r.now += c.wait
			r.job(2, sched.Long, 1, c.second)
			want := c.byAge
			if o.Tail {
				want = c.want
			}
			expect(t, fmt.Sprintf("tail %v, %d before %d", o.Tail, c.first, c.second), r.order(), want)
		}
	}
}

// The job's total counts, not what came here: a task of a job of nine goes after one
// of a job of three, where neither job is otherwise here.
func TestLongQueueCountsTheWholeJob(t *testing.T) {
	r := newSorted(t, pigeon.DefaultOptions(), general(1))
	r.job(9, sched.Short, 1, 1)
	for _, j := range []struct {
		id    uint64
		total int32
	}{{1, 9}, {2, 3}, {3, 5}} {
		r.step(distributor, &sched.Message{
			Kind: sched.Tasks, Job: sched.JobID{Lo: j.id}, Class: sched.Long, Count: 1, Total: j.total, Attempt: 1, Distributor: distributor, Estimate: 2000, Arrival: 1,
		})
	}
	expect(t, "long", r.order(), []string{"0:2/0", "0:3/0", "0:1/0"})
}

// "u: the job's unfinished tasks here (queued, running, suspended)": a job that
// runs elsewhere in the group counts with all of it, and less as its tasks end.
func TestLongQueueCountsRunningTasks(t *testing.T) {
	r := newSorted(t, byAge(2), general(4))
	r.job(1, sched.Long, 4, 2000)
	r.step(distributor, &sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: 1}, Class: sched.Long, First: 4, Count: 1, Attempt: 1, Distributor: distributor})
	r.job(2, sched.Long, 3, 2000)
	r.job(2, sched.Long, 3, 2000)                    // came twice
	expect(t, "first", r.ends(1), []string{"1:2/0"}) // 3 tasks against 4
	r.job(3, sched.Short, 1, 1)
	expect(t, "short before", r.ends(2), []string{"2:3/0"})
	r.job(4, sched.Short, 1, 1)
	expect(t, "short before", r.ends(3), []string{"3:4/0"}) // of job 1 there are 2 left, of job 2 there are 3
	expect(t, "then", r.ends(2), []string{"2:1/4"})
}

// docs/policies.md, pigeon-sort: "`guard` (off): jobs whose first task has waited here
// more than 20 cutoffs are served first, oldest first, in both queues."
func TestGuard(t *testing.T) {
	for _, class := range []sched.Class{sched.Short, sched.Long} {
		for _, guard := range []bool{false, true} {
			o := byAge(0)
			o.Guard = guard
			r := newSorted(t, o, general(1))
			r.job(9, class, 1, 1)
			r.job(1, class, 1, 4000)
			r.job(2, class, 1, 3000)
			r.now += 20_001
			r.job(3, class, 1, 2000)
			want := []string{"0:3/0", "0:2/0", "0:1/0"}
			if guard {
				want = []string{"0:1/0", "0:2/0", "0:3/0"}
			}
			expect(t, "guard", r.order(), want)
		}
	}
}
