package replay

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

const (
	// patience bounds one long poll, so that a job that is queued for long does
	// not keep a watcher from others that have ended.
	patience = time.Second
	// idle is how long a watcher sleeps when no job can have ended.
	idle = 20 * time.Millisecond
)

// waiting is a submitted job that has not ended as far as is known.
type waiting struct {
	job   int
	since time.Time // it was submitted
	poll  time.Time // it cannot have ended before
}

// queue holds the waiting jobs of one frontend, by the time of their next poll.
type queue struct {
	mu   sync.Mutex
	jobs waitingHeap
}

func (q *queue) add(w waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	heap.Push(&q.jobs, w)
}

// pop removes and returns a job that can have ended by now.
func (q *queue) pop() (w waiting, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 || time.Now().Before(q.jobs[0].poll) {
		return w, false
	}
	w, ok = heap.Pop(&q.jobs).(waiting)
	return w, ok
}

type waitingHeap []waiting

func (h waitingHeap) Len() int           { return len(h) }
func (h waitingHeap) Less(i, j int) bool { return h[i].poll.Before(h[j].poll) }
func (h waitingHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *waitingHeap) Push(x any)        { *h = append(*h, x.(waiting)) }
func (h *waitingHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	*h = (*h)[:last]
	return w
}

// watch waits for jobs of one frontend to end.
func (r *replay) watch(ctx context.Context, t *target) {
	for ctx.Err() == nil {
		w, ok := t.queue.pop()
		if !ok {
			delay.For(ctx, idle)
			continue
		}
		s, err := t.waits.Wait(ctx, r.key(w.job), patience)
		var refusal *api.Error
		switch {
		case err == nil && s.State.Ended():
			r.end(w.job, s)
			continue
		case ctx.Err() != nil:
			return
		case errors.As(err, &refusal) && refusal.Problem == api.NotFound:
			r.fail(fmt.Errorf("%s had been accepted by the frontend %s, which no longer knows it: %w; the replay was ended", r.name(w.job), t.address, err))
			return
		case err != nil:
			delay.For(ctx, retryFirst) // the frontend may be starting again
		}
		// The longer it has waited in queues, the less often it is polled.
		w.poll = time.Now().Add(time.Since(w.since) / 10)
		t.queue.add(w)
	}
}

// end records a job that ended.
func (r *replay) end(i int, s api.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	job := &r.out.Jobs[i]
	job.Ended, job.Failed = true, s.State != api.StateCompleted
	job.End = job.Arrival + int64(s.Seconds*1e9)
	r.attempts += int64(s.Attempts)
	if r.ended++; r.ended == len(r.work.Jobs) {
		close(r.all)
	}
}
