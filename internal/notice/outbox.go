package notice

import (
	"fmt"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// outbox is the queue between Publish and the socket. nats.go writes to the
// socket under a lock that Publish acquires too, so without a queue a stalled
// server would block every publisher.
type outbox struct {
	maxNotices, maxBytes int
	wake                 chan struct{} // one element: there may be something to hand on
	done                 chan struct{} // closed by close

	mu        sync.Mutex
	closed    bool
	filling   heap // what is queued
	published uint64
	unsent    uint64
}

// heap holds notices end to end in one buffer, so that queueing one allocates
// nothing once the buffers have grown.
type heap struct {
	data    []byte
	notices []entry
}

// entry is a notice in a heap: data[from:to].
type entry struct {
	subject  string
	from, to int
}

// keepHeap is the largest buffer kept between two rounds.
const keepHeap = 256 << 10

func (h *heap) reset() {
	clear(h.notices)
	h.notices, h.data = h.notices[:0], h.data[:0]
	if cap(h.data) > keepHeap {
		h.data = nil
	}
}

func newOutbox(maxNotices, maxBytes int) *outbox {
	return &outbox{
		maxNotices: maxNotices, maxBytes: maxBytes,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// put queues a copy of a notice, or returns which limit forbids it.
func (o *outbox) put(subject string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	what := ""
	switch {
	case o.closed:
		o.unsent++
		return ErrClosed
	case len(data) > MaxNotice:
		what = fmt.Sprintf("the notice has %d bytes (limit %d)", len(data), MaxNotice)
	case len(o.filling.notices) >= o.maxNotices:
		what = fmt.Sprintf("%d notices are queued (limit %d)", len(o.filling.notices), o.maxNotices)
	case len(o.filling.data)+len(data) > o.maxBytes:
		what = fmt.Sprintf("%d bytes are queued (limit %d)", len(o.filling.data), o.maxBytes)
	}
	if what != "" {
		o.unsent++
		return &api.Error{
			Problem: api.Busy, Subject: "notices to " + subject, What: what,
			Tried: "publishing", Next: "check that the NATS server keeps up",
		}
	}
	from := len(o.filling.data)
	o.filling.data = append(o.filling.data, data...)
	o.filling.notices = append(o.filling.notices, entry{subject, from, len(o.filling.data)})
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// run hands notices on until close.
func (o *outbox) run(publish func(subject string, data []byte) error) {
	var emptying heap
	for {
		select {
		case <-o.done:
			return
		case <-o.wake:
		}
		for {
			o.mu.Lock()
			emptying, o.filling = o.filling, emptying
			o.mu.Unlock()
			if len(emptying.notices) == 0 {
				break
			}
			o.handOn(&emptying, publish)
		}
	}
}

// handOn publishes all notices of h and empties it.
func (o *outbox) handOn(h *heap, publish func(subject string, data []byte) error) {
	sent := 0
	for _, n := range h.notices {
		if publish(n.subject, h.data[n.from:n.to]) == nil {
			sent++
		}
	}
	o.mu.Lock()
	o.published += uint64(sent)               //nolint:gosec // a count
	o.unsent += uint64(len(h.notices) - sent) //nolint:gosec // a count
	o.mu.Unlock()
	h.reset()
}

// drop counts a notice that was not even queued.
func (o *outbox) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent++
}

func (o *outbox) counts() (queued int, published, unsent uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.filling.notices), o.published, o.unsent
}

// close ends run and drops what is queued.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	o.unsent += uint64(len(o.filling.notices))
	o.filling = heap{}
	close(o.done)
}
