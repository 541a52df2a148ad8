package nodemonitor

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// publisher sends notices. An error says that nothing was sent; no error does not
// say that anybody got it.
type publisher interface {
	Idle(b *wire.Batch) error   // to the receiver, a master
	Report(b *wire.Batch) error // to the receiver, a frontend
}

// reporter makes Reports calls.
type reporter interface {
	// Report calls the frontend at the address and then back, from a goroutine of
	// its own, once.
	Report(address string, b *wire.Batch, back func(wire.ReportsReply, error))
}

// report sends the fresh results of the batch: one notice for each frontend, or a
// call where notices do not go.
func (o *owner) report() {
	for _, f := range o.dirty {
		f.dirty = false
		for f.fresh.n > 0 && o.publish(f) {
		}
		if f.fresh.n > 0 {
			o.call(f)
		}
	}
	clear(o.dirty)
	o.dirty = o.dirty[:0]
}

// publish sends one notice of what is due; false when notices do not go.
func (o *owner) publish(f *frontend) bool {
	if o.notices == nil {
		return false
	}
	o.scratch = o.take(f, o.scratch)
	err := o.notices.Report(o.batch(f.ref, o.scratch))
	if err != nil {
		o.meter.unpublished.Add(float64(len(o.scratch)))
		for i := range o.scratch {
			o.results.move(o.results.index[o.scratch[i].Msg.AttemptID()], &f.fresh)
		}
	}
	clear(o.scratch)
	return err == nil
}

// call sends one message of what is due by Thrift, unless a call is under way or
// the frontend did not answer a moment ago; then the answer or the next heartbeat
// leads back here.
func (o *owner) call(f *frontend) {
	if f.calling || o.silent || f.address == "" || o.now < f.notBefore {
		return
	}
	items := o.take(f, nil)
	if len(items) == 0 {
		return
	}
	f.calling = true
	o.reports.Report(f.address, o.batch(f.ref, items), func(r wire.ReportsReply, err error) {
		o.urge(event{do: func() { o.answered(f, r, err) }})
	})
}

// answered takes the answer to a call.
func (o *owner) answered(f *frontend, r wire.ReportsReply, err error) {
	f.calling = false
	defer o.settle()
	if err != nil {
		f.failures++
		f.notBefore = o.now + backoff(f.failures)
		if f.failures == 1 {
			o.log.Warn("results could not be reported; they are kept and sent again", "frontend", f.ref.Name, "address", f.address, "kept", f.fresh.n+f.told.n, "error", err)
		}
		return
	}
	f.failures, f.notBefore = 0, 0
	o.acknowledged(r.Acknowledged)
	for _, job := range r.Unknown {
		o.unknown(f, job)
	}
	if f.fresh.n > 0 || o.due(f) {
		o.call(f)
	}
}

// repeat sends, every heartbeat, the results that were not acknowledged within
// one, and the questions that were not answered within some. A frontend that does
// not answer at its last address may have come back at another, which its answer to a
// notice tells.
func (o *owner) repeat() {
	o.release()
	o.askAgain()
	for _, f := range o.frontends {
		switch {
		case f.dirty: // the end of this batch sees to it
		case f.fresh.n == 0 && !o.due(f):
		case f.failures%2 == 1 && o.publish(f):
			f.failures++
		default:
			o.call(f)
		}
	}
}

// heardFrom notes where a frontend serves, as it says itself.
func (o *owner) heardFrom(b *wire.Batch) {
	if f := o.frontendOf(o.addrs.Addr(b.Sender)); f != nil {
		o.reached(f, b.Address)
	}
}

// reached notes an address at which a frontend is worth a call at once.
func (o *owner) reached(f *frontend, address string) {
	if address != "" && address != f.address {
		f.address, f.failures, f.notBefore = address, 0, 0
	}
}

// Pauses after calls without an answer.
const (
	backoffFirst = 20 * time.Millisecond
	backoffMost  = 2 * time.Second
)

// backoff doubles with each failure, less up to half of it by chance, so that
// nodes that lost the same peer do not come back together.
func backoff(failures int) sched.Time {
	d := min(backoffFirst<<min(failures-1, 10), backoffMost)
	return sched.Time(d - rand.N(d/2+1)) //nolint:gosec // no secret
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// handOver sends every kept result once more, before the node monitor ends.
func (o *owner) handOver() {
	for _, f := range o.frontends {
		for f.told.n > 0 {
			o.results.move(f.told.first, &f.fresh)
		}
		f.notBefore = 0
		o.call(f)
	}
	o.settle()
}

// settle notes, once the node monitor ends, that no call is under way any more.
func (o *owner) settle() {
	if o.settled == nil {
		return
	}
	for _, f := range o.frontends {
		if f.calling {
			return
		}
	}
	close(o.settled)
	o.settled = nil
}
