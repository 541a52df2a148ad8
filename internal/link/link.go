package link

import (
	"context"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Deliverer delivers a batch to the peer; wire.PeerClient is one. It must not
// keep the batch after it returned.
type Deliverer interface {
	Deliver(ctx context.Context, b *wire.Batch) (wire.BatchReply, error)
}

// Link sends to one peer. It is safe for concurrent use.
type Link struct {
	opts Options
	to   Deliverer
	wake chan struct{} // one element: there may be something to send
	base context.Context
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended

	mu         sync.Mutex
	queue      []wire.Item
	queueBytes int
	spare      []wire.Item // an emptied queue, the next one
	closed     bool
	stale      bool   // the peer is another process and Reset was not called yet
	peer       int64  // its incarnation, 0 before the first answer
	gen        uint64 // counts what ends the life of queued messages
	genCtx     context.Context
	cancelGen  context.CancelFunc
	stats      Stats

	// The goroutine's own.
	sequence  uint64
	downSince time.Time // zero while up
	missedAt  time.Time // when an attempt failed last
	unknown   unknown   // kinds of messages that the peer does not know
}

// New returns a link that is ready to send. The error names the option that
// cannot work.
func New(to Deliverer, o Options) (*Link, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	l := &Link{opts: o, sequence: o.Sequence, to: to, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.base, l.stop = context.WithCancel(context.Background())
	l.genCtx, l.cancelGen = newGeneration(l.base)
	go l.run()
	return l, nil
}

// newGeneration returns the context of deliveries until the queue is dropped.
func newGeneration(base context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(base)
}

// Reset drops what is queued and in progress, and starts again with the peer's
// incarnation, known from its registration; 0 if unknown. It does not wait for a
// delivery in progress, whose outcome no longer counts.
func (l *Link) Reset(peer int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.stale, l.peer = false, peer
}

// Stats returns the counts now.
func (l *Link) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Close drops what is queued and returns when the goroutine has ended. It is safe
// to call twice.
func (l *Link) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		l.clear()
		l.stop()
	}
	l.mu.Unlock()
	<-l.done
	return nil
}

// Sequence returns the sequence number of the last batch. It may be called after Close.
func (l *Link) Sequence() uint64 {
	<-l.done
	return l.sequence
}

// run is the goroutine: it waits, and sends all there is.
func (l *Link) run() {
	defer close(l.done)
	probe := time.NewTimer(max(l.opts.Probe, 0))
	defer probe.Stop()
	if l.opts.Probe < 0 {
		probe.Stop()
	}
	for {
		select {
		case <-l.base.Done():
			return
		case <-l.wake:
			l.drain()
		case <-probe.C:
			l.probe()
		}
		if l.opts.Probe > 0 {
			probe.Reset(l.opts.Probe)
		}
	}
}

// drain sends until nothing is queued.
func (l *Link) drain() {
	for {
		items, bytes, gen := l.collect()
		if len(items) == 0 {
			return
		}
		for _, p := range l.parcels(items, bytes) {
			if !l.send(p, gen) {
				break
			}
		}
		l.recycle(items)
	}
}

// probe sends an empty batch, unless this process must register with the peer first.
func (l *Link) probe() {
	l.mu.Lock()
	stale, gen := l.stale, l.gen
	l.mu.Unlock()
	if !stale {
		l.send(parcel{}, gen)
	}
}
