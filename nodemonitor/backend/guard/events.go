package guard

import (
	"bufio"
	"encoding/gob"
	"io"
	"sync"
)

// eventQueue sends events without ever blocking the goroutine that puts them in. It
// holds two events per attempt at most, and the client bounds the attempts.
type eventQueue struct {
	mu     sync.Mutex
	ready  *sync.Cond
	queue  []Event
	closed bool
}

func newEventQueue() *eventQueue {
	o := &eventQueue{}
	o.ready = sync.NewCond(&o.mu)
	return o
}

func (o *eventQueue) put(e Event) {
	o.mu.Lock()
	o.queue = append(o.queue, e)
	o.mu.Unlock()
	o.ready.Signal()
}

// close ends send.
func (o *eventQueue) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.ready.Signal()
}

// send writes the first messages, then events, until the queue is closed or the writer
// fails, which means that the client is gone.
func (o *eventQueue) send(w io.Writer, first ...any) {
	out := bufio.NewWriter(w) // one call of the kernel for all events that are there
	enc := gob.NewEncoder(out)
	for _, m := range first {
		if enc.Encode(m) != nil {
			return
		}
	}
	if out.Flush() != nil {
		return
	}
	var batch []Event
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.ready.Wait()
		}
		if o.closed {
			o.mu.Unlock()
			return
		}
		batch, o.queue = o.queue, batch[:0]
		o.mu.Unlock()
		for i := range batch {
			if enc.Encode(&batch[i]) != nil {
				return
			}
		}
		clear(batch)
		if out.Flush() != nil {
			return
		}
	}
}
