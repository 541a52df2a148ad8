package app

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	// maxFailures is how many probes, or launches, without an answer in a row make a
	// backend rest.
	maxFailures = 3
	// restFirst is how long a backend rests. The time doubles, up to restMost, when it
	// rests again before a launch was answered.
	restFirst = time.Second
	restMost  = time.Minute
	// goneAfter is how long a backend may rest without being reached.
	goneAfter = time.Hour
)

// contact is what is known of whether a backend can be reached. The registry's lock guards
// it.
type contact struct {
	probes, launches int           // without an answer, in a row
	pause            time.Duration // of the last rest; 0 when a launch was answered since
	resting          bool          // it is offered no task
	until            time.Time     // the end of the rest, if a probe is answered then
	reached          time.Time     // when it was last reached, while it rests
}

// watch probes a backend until it is gone.
func (r *Registry) watch(p *process) {
	tick := time.NewTicker(r.cfg.ProbeEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(p.ctx, r.cfg.ProbeEvery)
		err := r.cfg.Probe(ctx, p.address)
		cancel()
		r.record(p, err, r.probed)
	}
}

// record records the outcome of a call to a backend that is still registered.
func (r *Registry) record(p *process, err error, apply func(*process, error)) {
	defer r.callbacks.flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.known[p.address] != p: // gone already
	case errors.Is(err, syscall.ECONNREFUSED):
		r.gone(p, "it refuses connections", err)
	default:
		apply(p, err)
	}
}

// probed applies the outcome of a probe. It needs the lock.
func (r *Registry) probed(p *process, err error) {
	c, now := &p.contact, time.Now()
	switch {
	case err == nil:
		c.probes, c.reached = 0, now
		if c.resting && !now.Before(c.until) {
			r.cfg.Logger.Info("a backend is offered tasks again", "application", p.app, "address", p.address, "kind", p.kind.String())
			r.resume(p)
		}
	case c.resting:
		if now.Sub(c.reached) >= goneAfter {
			r.gone(p, fmt.Sprintf("it could not be reached for %v", goneAfter), err)
		}
	default:
		if c.probes++; c.probes >= maxFailures {
			reason := fmt.Sprintf("the backend of application %q at %s could not be reached: %v", p.app, p.address, err)
			r.rest(p, reason, err)
			r.void(p, reason)
		}
	}
}

// launched applies the outcome of a launch: nil for every answer, exceptions included. Other
// tasks in the backend continue. It needs the lock.
func (r *Registry) launched(p *process, err error) {
	c := &p.contact
	if err == nil {
		c.launches, c.pause = 0, 0
		return
	}
	if c.launches++; c.launches >= maxFailures && !c.resting {
		r.rest(p, fmt.Sprintf("the backend of application %q at %s answered no launch: %v", p.app, p.address, err), err)
	}
}

// rest offers a backend no more tasks for a while. It needs the lock.
func (r *Registry) rest(p *process, reason string, err error) {
	c, now := &p.contact, time.Now()
	*c = contact{pause: min(max(2*c.pause, restFirst), restMost), resting: true, reached: now}
	c.until = now.Add(c.pause)
	r.stats.Rested++
	r.cfg.Logger.Warn("a backend does not answer; it is offered no tasks for a while", "application", p.app, "address", p.address, "kind", p.kind.String(), "for", c.pause, "error", err)
	r.withdraw(p, reason)
}

// resume offers a backend tasks again, in a slot with a new number, if it rests. It needs the
// lock.
func (r *Registry) resume(p *process) {
	if p.contact.resting {
		p.contact.resting = false
		r.offer(p)
	}
}

// gone removes a backend. It needs the lock.
func (r *Registry) gone(p *process, what string, err error) {
	r.cfg.Logger.Warn("a backend is gone; start it again to have its slot back", "application", p.app, "address", p.address, "kind", p.kind.String(), "error", err)
	r.drop(p, fmt.Sprintf("the backend of application %q at %s is gone: %s: %v", p.app, p.address, what, err))
}
