package fairness

import (
	"context"
	"errors"
	"time"
)

// FloodOptions describe a small job during a flood.
type FloodOptions struct {
	Policy   string
	Flood    int           // tasks of the owner that floods, submitted first
	Tasks    int           // of the small job of the other owner
	Duration time.Duration // of each task
	OneOwner bool          // the small job is of the owner that floods
}

// FloodRun is what a small job got during a flood.
type FloodRun struct {
	Seconds float64 // from the call that submits the small job to the answer that it has ended
	Before  int     // tasks of the flood that started between the submission and the last start of a task of the small job
}

// Flood submits a flood, waits until its first tasks have ended, and submits a small job.
func Flood(ctx context.Context, o FloodOptions) (r FloodRun, err error) {
	p, err := open(ctx, o.Policy, "")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	flood := Load{Owner: "flood", Tasks: o.Flood, Duration: o.Duration}
	small := Load{Owner: "small", Tasks: o.Tasks, Duration: o.Duration}
	if o.OneOwner {
		small.Owner = flood.Owner
	}
	if err := p.submit(ctx, &flood, "0"); err != nil {
		return r, err
	}
	if err := p.completed(ctx, 1, "flood 0"); err != nil {
		return r, err
	}
	before, err := p.scheduler.Status(ctx, "flood 0")
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := p.submit(ctx, &small, "1"); err != nil {
		return r, err
	}
	for ended := false; !ended; {
		s, err := p.scheduler.Wait(ctx, small.Owner+" 1", time.Second)
		if err != nil {
			return r, err
		}
		ended = s.State.Ended()
	}
	r.Seconds = time.Since(began).Seconds()
	if o.OneOwner {
		_, err = p.finish()
		return r, err
	}
	list, err := p.finish()
	if err != nil {
		return r, err
	}
	r.Before = -before.Completed - before.Running
	last := 0
	for i, a := range list {
		if a.owner == small.Owner {
			last = i
		}
	}
	for _, a := range list[:last] {
		if a.owner == flood.Owner {
			r.Before++
		}
	}
	return r, nil
}
