package pigeon_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

const benchWorkers = 1000

// loaded is a master with 1,000 busy general workers and the given number of tasks
// queued, in jobs of 100.
func loaded(queued int) *pigeon.Master {
	m := pigeon.NewMaster(sched.MasterConfig{Params: sched.Params{Weight: 20}})
	var out sched.Actions
	step := func(msg *sched.Message) {
		out.Reset()
		m.Step(0, distributor, msg, &out)
	}
	for i := range int32(benchWorkers) {
		step(&sched.Message{Kind: sched.WorkerUp, Peer: worker(i), Node: fmt.Sprintf("n%04d", i), Serves: []string{""}})
	}
	step(&sched.Message{Kind: sched.Tasks, Job: sched.JobID{Hi: 1}, Count: benchWorkers, Attempt: 1, Distributor: distributor})
	for i := range queued / 100 {
		step(&sched.Message{Kind: sched.Tasks, Job: sched.JobID{Lo: uint64(i) + 1}, Class: sched.Class(i % 2), Count: 100, Attempt: 1, Distributor: distributor})
	}
	return m
}

// BenchmarkLaunch: a worker turns idle and gets a task from the queue. For every
// hundred tasks that are taken a job of a hundred comes in, so that the queue keeps
// its length; the time is of a launch and the hundredth part of an enqueue.
func BenchmarkLaunch(b *testing.B) {
	for _, queued := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprintf("queued=%d", queued), func(b *testing.B) {
			m := loaded(queued)
			var out sched.Actions
			idle := sched.Message{Kind: sched.Idle}
			more := sched.Message{Kind: sched.Tasks, Count: 100, Attempt: 1, Distributor: distributor}
			n := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				idle.Seq = n/benchWorkers + 1
				m.Step(0, worker(int32(n%benchWorkers)), &idle, &out)
				if n++; n%100 == 0 {
					more.Job, more.Class = sched.JobID{Hi: 2, Lo: n}, sched.Class(n/100%2)
					out.Reset()
					m.Step(0, distributor, &more, &out)
				}
			}
			if m.Queued() < queued-200 {
				b.Fatalf("%d tasks are queued, want %d", m.Queued(), queued)
			}
		})
	}
}

// BenchmarkEnqueue: a job of one task arrives while all workers are busy, and is
// dropped again; both are in the time.
func BenchmarkEnqueue(b *testing.B) {
	for _, queued := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("queued=%d", queued), func(b *testing.B) {
			m := loaded(queued)
			var out sched.Actions
			task := sched.Message{Kind: sched.Tasks, Job: sched.JobID{Hi: 2}, Count: 1, Attempt: 1, Distributor: distributor}
			drop := sched.Message{Kind: sched.Drop, Job: sched.JobID{Hi: 2}}
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				m.Step(0, distributor, &task, &out)
				m.Step(0, distributor, &drop, &out)
			}
		})
	}
}

// BenchmarkLaunchAtArrival: a job of one task finds one of 1,000 idle workers, which
// then turns idle again; both are in the time.
func BenchmarkLaunchAtArrival(b *testing.B) {
	m := loaded(0)
	var out sched.Actions
	for i := range int32(benchWorkers) {
		m.Step(0, worker(i), &sched.Message{Kind: sched.Idle, Seq: 1}, &out)
	}
	task := sched.Message{Kind: sched.Tasks, Count: 1, Attempt: 1, Distributor: distributor}
	idle := sched.Message{Kind: sched.Idle}
	n := uint64(1)
	b.ReportAllocs()
	for b.Loop() {
		n++
		out.Reset()
		task.Job.Lo, idle.Seq = n, n
		m.Step(0, distributor, &task, &out)
		m.Step(0, out.List()[0].To, &idle, &out)
	}
}

// heapOf returns the bytes that build leaves on the heap.
func heapOf(build func() any) (bytes float64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// BenchmarkMemory reports the bytes that a queued task takes in a master and a
// distributor, payloads not counted: the limits are 200 and 400.
func BenchmarkMemory(b *testing.B) {
	const tasks = 1_000_000
	report := func(name string, build func() any) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(heapOf(build)/tasks, "B/task")
			}
		})
	}
	for _, perJob := range []int32{100, 1} {
		report(fmt.Sprintf("master/tasks=%d", perJob), func() any {
			m := loaded(0)
			fill(m, tasks, perJob, &sched.Message{Kind: sched.Tasks, Attempt: 1, Distributor: distributor})
			return m
		})
		report(fmt.Sprintf("recovering/tasks=%d", perJob), func() any {
			m := pigeon.NewMaster(sched.MasterConfig{Recover: true})
			fill(m, tasks, perJob, &sched.Message{Kind: sched.Tasks, Attempt: 1, Distributor: distributor, Resent: true})
			return m
		})
		report(fmt.Sprintf("distributor/tasks=%d", perJob), func() any {
			d := pigeon.NewDistributor(sched.DistributorConfig{Self: distributor})
			var out sched.Actions
			d.Step(0, sched.Addr{}, &sched.Message{Kind: sched.MasterUp, Peer: group(0), Serves: []string{""}}, &out)
			fill(d, tasks, perJob, &sched.Message{Kind: sched.Submit})
			return d
		})
	}
}

// fill gives a core the given number of tasks in jobs of perJob.
func fill(c sched.Core, tasks int, perJob int32, m *sched.Message) {
	var out sched.Actions
	m.Count = perJob
	for i := range tasks / int(perJob) {
		m.Job.Lo = uint64(i) + 1
		out.Reset()
		c.Step(0, distributor, m, &out)
	}
}
