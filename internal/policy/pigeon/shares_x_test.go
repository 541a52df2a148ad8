package pigeon_test

import (
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// of is arrives for an owner; a canary too, if marked.
func (r *rig) of(owner string, id uint64, class sched.Class, count int32, estimate sched.Time, marks sched.Marks) []string {
	r.t.Helper()
	return orders(r.step(distributor, &sched.Message{
		Kind: sched.Tasks, Job: sched.JobID{Lo: id}, Class: class, Count: count, Attempt: 1, Distributor: distributor, Estimate: estimate, Arrival: r.now + 1,
		Marks: sched.Stoppable | marks, Owner: owner,
	}))
}

// docs/policies.md: "pigeon-x suspends a task of the owner that runs most for its weight,
// compared where the paths part; of equal ones, as before."
func TestVictimIsOfTheOwnerThatRunsMost(t *testing.T) {
	r := newSorted(t, suspending(), general(6))
	r.step(sched.Addr{}, &sched.Message{Kind: sched.SetShares, More: &sched.More{Shares: []sched.Share{{Owner: "big", Weight: 4}}}})
	r.of("big", 1, sched.Long, 1, 90_000, 0) // worker 0
	r.of("t/a", 2, sched.Long, 2, 3000, 0)   // 1 and 2
	r.of("t/b", 3, sched.Long, 1, 9000, 0)   // 3
	r.of("big", 4, sched.Long, 2, 90_000, 0) // 4 and 5
	expect(t, "t runs 3 of weight 1, and a most of it", r.of("s", 5, sched.Short, 1, 1, 0), []string{"2:Preempt 5/0"})
	expect(t, "a and b run one each: the larger index", r.of("s", 6, sched.Short, 1, 1, 0), []string{"3:Preempt 6/0"})
	expect(t, "t runs 1 of weight 1, big 3 of 4", r.of("s", 7, sched.Short, 1, 1, 0), []string{"1:Preempt 7/0"})
	expect(t, "only big is left: the larger index, begun last", r.of("s", 8, sched.Short, 1, 1, 0), []string{"5:Preempt 8/0"})
}

// "A canary of an owner that runs more than its part of what runs now suspends nothing."
func TestCanaryOfAnOwnerOverItsShare(t *testing.T) {
	r := newSorted(t, pigeon.XOptions(), general(4))
	r.of("greedy", 1, sched.Long, 3, 5000, 0)
	r.of("modest", 2, sched.Long, 1, 5000, 0)
	expect(t, "the canary of the greedy one waits", r.of("greedy", 3, sched.Long, 1, 5000, sched.Canary), nil)
	expect(t, "that of the modest one", r.of("modest", 4, sched.Long, 1, 5000, sched.Canary), []string{"2:Preempt 4/0"})
}

// Suspended time is not charged: the owner whose task was suspended is charged for the
// time that it ran.
func TestSuspendedTimeIsNotCharged(t *testing.T) {
	r := newSorted(t, suspending(), general(1))
	r.of("a", 1, sched.Long, 1, 50, 0)
	r.now += 100
	r.of("s", 2, sched.Short, 1, 1, 0)
	r.now += 1000
	r.idles(0, 3) // the task of a continues
	r.now += 10
	r.over(0, 1, 2)
	for _, v := range r.master.Owners() {
		if used := v.Used[sched.Long]; used > 0 && (used < 110 || used > 115) {
			t.Errorf("owner %q is charged %d", v.Owner, used)
		}
		if v.Owner == "" && v.Used[sched.Long] == 0 {
			t.Error("nothing is charged")
		}
	}
}
