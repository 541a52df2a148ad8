package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
)

// generate submits every job when it is due, each on a goroutine. Due
// times are absolute: a job that is late does not make those after it late. It
// sleeps a millisecond at least, since shorter timers are late by one anyway, and
// then submits the jobs that are due.
func (r *replay) generate(ctx context.Context, all *sync.WaitGroup) {
	first := r.work.Jobs[0].Arrival
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := range r.work.Jobs {
		due := r.began.Add(time.Duration(r.work.Jobs[i].Arrival - first))
		for wait := time.Until(due); wait > 0; wait = time.Until(due) {
			timer.Reset(max(wait, time.Millisecond))
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		late := time.Since(due)
		r.mu.Lock()
		r.lateness = max(r.lateness, late)
		r.mu.Unlock()
		all.Go(func() { r.submit(ctx, i) })
	}
}

// Pauses between tries to submit a job to a frontend that does not answer.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = 500 * time.Millisecond
)

// submit submits a job until it is accepted. The same key makes a second try
// harmless.
func (r *replay) submit(ctx context.Context, i int) {
	t, request := r.target(i), r.request(i)
	arrival := time.Now()
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		_, _, err := t.submits.Submit(ctx, request)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Problem == api.Invalid {
			r.fail(fmt.Errorf("%s was refused by the frontend %s: %w; the replay was ended", r.name(i), t.address, err))
			return
		}
		if !delay.For(ctx, max(pause, refusal.RetryAfter)) {
			return
		}
	}
	soonest := time.Now().Add(time.Duration(r.work.Jobs[i].Longest()))
	r.mu.Lock()
	r.submitted++
	r.out.Jobs[i].Arrival = arrival.Sub(r.began).Nanoseconds()
	if soonest.After(r.lastDue) {
		r.lastDue = soonest
	}
	r.mu.Unlock()
	t.queue.add(waiting{job: i, since: time.Now(), poll: soonest})
}

// request is the job as an application would submit it.
func (r *replay) request(i int) *api.Request {
	job := &r.work.Jobs[i]
	q := &api.Request{
		Key: r.key(i), Backend: api.BackendSleep, Owner: job.Owner, Priority: job.Priority, Name: job.Name, Tasks: make([]api.Task, len(job.Durations)),
	}
	switch {
	case !job.Undeclared:
		q.Class, q.Estimate, q.EstimateSet = job.DeclaredClass().String(), time.Duration(job.Estimate), job.Estimate > 0
	case q.Name == "":
		// Without a name all jobs would be one work, sleep, and frontends would learn one class of it.
		q.Name = "replayed job " + q.Key
	}
	for k, d := range job.Durations {
		q.Tasks[k].Payload = api.Payload{Backend: api.BackendSleep, Sleep: time.Duration(d)}
	}
	return q
}
