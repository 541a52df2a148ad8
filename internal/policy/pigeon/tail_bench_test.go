package pigeon_test

import (
	"fmt"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// BenchmarkLongLaunch: one of 1,000 workers turns idle and gets a long task of the
// first of many waiting jobs of one task; a job of one task follows. The order is not
// renewed in that time, which is once a cutoff.
func BenchmarkLongLaunch(b *testing.B) {
	for _, o := range []pigeon.Options{byAge(2), pigeon.DefaultOptions()} {
		for _, queued := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("tail=%v/queued=%d", o.Tail, queued), func(b *testing.B) {
				m := pigeon.NewMasterWith(sched.MasterConfig{Params: sched.Params{Cutoff: sched.Second}}, o)
				var out sched.Actions
				for i := range int32(benchWorkers) {
					out.Reset()
					m.Step(1, distributor, &sched.Message{Kind: sched.WorkerUp, Peer: worker(i), Node: fmt.Sprintf("n%04d", i), Serves: []string{""}}, &out)
				}
				more := sched.Message{Kind: sched.Tasks, Class: sched.Long, Count: 1, Total: 3, Attempt: 1, Distributor: distributor, Arrival: 1}
				n := uint64(0)
				next := func() {
					n++
					more.Job.Lo, more.Estimate = n, sched.Second+sched.Time(n*7919%1000)*sched.Millisecond
					out.Reset()
					m.Step(1, distributor, &more, &out)
				}
				for range benchWorkers + queued {
					next()
				}
				idle := sched.Message{Kind: sched.Idle}
				b.ReportAllocs()
				for k := uint64(0); b.Loop(); k++ {
					out.Reset()
					idle.Seq = k/benchWorkers + 1
					m.Step(1, worker(int32(k%benchWorkers)), &idle, &out)
					next()
				}
				if m.Queued() != queued {
					b.Fatalf("%d tasks are queued, want %d", m.Queued(), queued)
				}
			})
		}
	}
}

// BenchmarkVictim: a short task arrives, the long task of the largest index among
// those of 1,000 workers is suspended for it, and continues when the short one has ended.
func BenchmarkVictim(b *testing.B) {
	for _, tail := range []bool{false, true} {
		b.Run(fmt.Sprintf("tail=%v", tail), func(b *testing.B) {
			o := suspending()
			o.Tail = tail
			m := pigeon.NewMasterWith(sched.MasterConfig{Params: sched.Params{Cutoff: sched.Second}}, o)
			var out sched.Actions
			for i := range int32(benchWorkers) {
				out.Reset()
				m.Step(1, distributor, &sched.Message{Kind: sched.WorkerUp, Peer: worker(i), Node: fmt.Sprintf("n%04d", i), Serves: []string{""}}, &out)
				m.Step(1, distributor, &sched.Message{
					Kind: sched.Tasks, Job: sched.JobID{Hi: 1, Lo: uint64(i)}, Class: sched.Long, Count: 1, Total: 3, Attempt: 1, Distributor: distributor, Arrival: 1,
					Estimate: sched.Time(i+2) * sched.Second, Marks: sched.Stoppable,
				}, &out)
			}
			task := sched.Message{Kind: sched.Tasks, Count: 1, Attempt: 1, Distributor: distributor}
			idle := sched.Message{Kind: sched.Idle}
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				task.Job.Lo++
				m.Step(1, distributor, &task, &out)
				launch := &out.List()[0]
				if launch.Msg.Kind != sched.Preempt {
					b.Fatalf("a short task: %s", sched.DescribeAction(launch))
				}
				to := launch.To
				idle.Seq += 2
				m.Step(1, to, &idle, &out)
			}
		})
	}
}
