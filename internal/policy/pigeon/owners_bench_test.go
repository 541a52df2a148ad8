package pigeon_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// ownerOf returns the path of an owner, on one level or three, with the same number at each.
func ownerOf(i, owners, levels int) string {
	if levels == 1 {
		return fmt.Sprintf("owner-%05d", i)
	}
	side := 1
	for side*side*side < owners {
		side++
	}
	return fmt.Sprintf("unit-%02d/team-%02d/user-%02d", i/(side*side), i/side%side, i%side)
}

// BenchmarkDecision: one of 1,000 workers becomes idle and gets the next of the tasks of
// many owners, all of which have waiting tasks. The time is that of the master's step: the
// end of a task is charged, the next is chosen, launched and charged.
func BenchmarkDecision(b *testing.B) {
	for _, levels := range []int{1, 3} {
		for _, owners := range []int{1, 100, 10_000} {
			b.Run(fmt.Sprintf("levels=%d/owners=%d", levels, owners), func(b *testing.B) {
				const each = 100_000
				m := loaded(0)
				var out sched.Actions
				for i := range max(owners, 50) {
					out.Reset()
					m.Step(0, distributor, &sched.Message{
						Kind: sched.Tasks, Job: sched.JobID{Hi: 2, Lo: uint64(i)}, Count: each, Attempt: 1, Distributor: distributor,
						Owner: ownerOf(i%owners, owners, levels), Estimate: sched.Time(50+i%100) * sched.Millisecond,
					}, &out)
				}
				queued := m.Queued()
				idle := sched.Message{Kind: sched.Idle}
				n := uint64(0)
				b.ReportAllocs()
				began := processor()
				for b.Loop() {
					out.Reset()
					idle.Seq = n/benchWorkers + 1
					m.Step(sched.Time(n)*100*sched.Microsecond, worker(int32(n%benchWorkers)), &idle, &out)
					n++
				}
				b.ReportMetric(float64(processor()-began)/float64(n), "cpu-ns/op")
				if left := m.Queued(); queued-left != int(n) {
					b.Fatalf("%d tasks were launched, want %d", queued-left, n)
				}
			})
		}
	}
}

// processor returns the processor time of this process in nanoseconds, which other load
// on the machine changes less than the time that passes.
func processor() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkOwnerMemory reports the bytes that an owner takes whose tasks wait for one
// application: without its job, and without the run of its tasks.
func BenchmarkOwnerMemory(b *testing.B) {
	const owners = 10_000
	waiting := func(m *pigeon.Master, owner func(int) string) any {
		var out sched.Actions
		for i := range owners {
			out.Reset()
			m.Step(0, distributor, &sched.Message{
				Kind: sched.Tasks, Job: sched.JobID{Hi: 2, Lo: uint64(i)}, Count: 1, Attempt: 1, Distributor: distributor, Owner: owner(i), Estimate: sched.Second,
			}, &out)
		}
		return m
	}
	for _, levels := range []int{1, 3} {
		b.Run(fmt.Sprintf("levels=%d", levels), func(b *testing.B) {
			var of, alone float64
			for b.Loop() {
				m := loaded(0)
				of = heapOf(func() any { return waiting(m, func(i int) string { return ownerOf(i, owners, levels) }) })
				m = loaded(0)
				alone = heapOf(func() any { return waiting(m, func(int) string { return "owner" }) })
			}
			b.ReportMetric((of-alone)/owners, "B/owner")
		})
	}
}
