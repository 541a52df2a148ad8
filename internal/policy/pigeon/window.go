package pigeon

import (
	"github.com/pigeon-sched/pigeon/internal/queue"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// The window of an undeclared job: the number of its tasks that are served as short ones
// at a time in each group. bench/results/undeclared.md has the figures that chose the
// numbers; none belongs to a trace.
const (
	firstWindow = 5
	wider       = 4 // times, with each task that ended within the cutoff
)

// asShort implements hooks.
func (e *extension) asShort(j *queue.Job, count int32) int32 {
	if !e.options.Suspend || !e.options.Canary {
		return count
	}
	f := e.facts[j]
	f.window = max(f.window, firstWindow)
	return min(count, max(0, f.window-e.servedAsShort(j)))
}

// servedAsShort returns how many tasks of the job are queued, or run, as short ones.
func (e *extension) servedAsShort(j *queue.Job) int32 {
	count := j.QueuedAs(sched.Short)
	for w := e.workers.running(j); w != nil; w = w.next {
		if w.class == sched.Short {
			count++
		}
	}
	return count
}

// widen learns from the end of the worker's task, if its job is undeclared. If it ended
// within the cutoff, more tasks of the job are served as short ones: the first waits for
// this worker, which is about to be free.
func (e *extension) widen(w *worker, out *sched.Actions) {
	j := w.job
	if !undeclared(j) {
		return
	}
	e.learn(j, w)
	f := e.facts[j]
	if j.Class != sched.Short || f.window == 0 || e.attained(w) > e.cfg.Params.Cutoff {
		return
	}
	f.window = min(f.window*wider, sched.MaxTasks)
	more := f.window - e.servedAsShort(j)
	if w.class == sched.Short {
		more++
	}
	if more > 0 && j.QueuedAs(sched.Long) > 0 && e.index.Idle(sched.General) == 0 {
		x, _ := e.asShortNow(waitsAsLong(j), 1)
		e.index.PushTail(e.now, j, x.task, 1, x.attempt).Moved = x.moved
		more--
	}
	for more > 0 && j.QueuedAs(sched.Long) > 0 {
		x, count := e.asShortNow(waitsAsLong(j), more)
		e.place(e.now, x, count, entry{}, out)
		more -= count
	}
}

// asShortNow takes up to most tasks, from x on, out of a run in the long queue; they are served as
// short ones.
func (e *extension) asShortNow(r *queue.Run, most int32) (x work, count int32) {
	x, count = first(r), min(r.Count, most)
	x.class = sched.Short
	e.index.TakeSome(r, count)
	return x, count
}

// waitsAsLong returns the first run of the job in the long queue.
func waitsAsLong(j *queue.Job) (first *queue.Run) {
	j.EachRun(func(r *queue.Run) {
		if r.Class == sched.Long && (first == nil || r.First < first.First) {
			first = r
		}
	})
	return first
}
