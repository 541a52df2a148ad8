package apptest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// call calls the frontend in use; when it does not answer, the next one is used
// from then on.
func (d *Driver) call(f func(context.Context, *wire.ApplicationClient) error) error {
	d.mu.Lock()
	at := d.frontend
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(d.ctx, 15*time.Second)
	defer cancel()
	err := f(ctx, wire.NewApplicationClient(d.pools[at]))
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		d.mu.Lock()
		d.failure = err
		if refusal.Problem == api.NotReady && at == d.frontend {
			d.frontend = (at + 1) % len(d.frontends)
		}
		d.mu.Unlock()
	}
	return err
}

// register registers again where the application is not known, or with the next
// frontend; if that fails, the next call tries again.
func (d *Driver) register(err error) {
	refusal, ok := errors.AsType[*api.Error](err)
	if ok && (refusal.Problem == api.NotFound || refusal.Problem == api.NotReady) {
		_ = d.call(func(ctx context.Context, f *wire.ApplicationClient) error {
			_, err := f.RegisterApplication(ctx, &d.app)
			return err
		})
	}
}

// pause waits a moment after a failure; false when the driver ends.
func (d *Driver) pause() bool {
	return delay.For(d.ctx, 50*time.Millisecond)
}

// sendWants tells the frontend what is wanted, whenever that changes.
func (d *Driver) sendWants() {
	d.register(&api.Error{Problem: api.NotFound})
	d.changed()
	for {
		select {
		case <-d.wantsChanged:
		case <-d.ctx.Done():
			return
		}
		for {
			w := d.wants()
			err := d.call(func(ctx context.Context, f *wire.ApplicationClient) error {
				_, err := f.Want(ctx, w)
				return err
			})
			if err == nil {
				break
			}
			d.register(err)
			if !d.pause() {
				return
			}
		}
	}
}

func (d *Driver) wants() *api.Wants {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sequence++
	w := &api.Wants{Application: d.app.ID, Incarnation: d.app.Incarnation, Sequence: d.sequence, Executors: d.executors, LastExecutor: d.last}
	for _, l := range d.levels {
		if l.waiting > 0 || len(l.running) > 0 {
			l.Total = l.Had + int64(l.waiting)
			w.Levels = append(w.Levels, l.Level)
		}
	}
	return w
}

// pollNews follows the states of the executors.
func (d *Driver) pollNews() {
	version, frontend := int64(0), 0
	for d.ctx.Err() == nil {
		var n api.News
		err := d.call(func(ctx context.Context, f *wire.ApplicationClient) (err error) {
			n, err = f.News(ctx, d.app.ID, d.app.Incarnation, version, time.Second)
			return err
		})
		d.mu.Lock()
		version = n.Version
		if err != nil || d.frontend != frontend {
			version, frontend = 0, d.frontend
			d.changed() // send the wants again, to the frontend in use now
		}
		for _, s := range n.Executors {
			d.states[s.ID] = s
			id := 0
			_, _ = fmt.Sscan(s.ID, &id) // all are numbers
			d.last = max(d.last, id)
		}
		d.notes = append(d.notes, n.Notes...)
		d.mu.Unlock()
		if err != nil && !d.pause() {
			return
		}
	}
}
