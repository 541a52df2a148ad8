package guard

import (
	"encoding/gob"
	"io"
	"sync"
)

// eventQueue sends events without ever blocking the goroutine that puts them in. It
// holds two events per attempt at most, and the client bounds the attempts.
type eventQueue struct {
	mu    sync.Mutex
	ready *sync.Cond
	queue []Event
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

// send writes events until the writer fails, which means that the client is gone.
func (o *eventQueue) send(w io.Writer) {
	enc := gob.NewEncoder(w)
	var batch []Event
	for {
		o.mu.Lock()
		for len(o.queue) == 0 {
			o.ready.Wait()
		}
		batch, o.queue = o.queue, batch[:0]
		o.mu.Unlock()
		for i := range batch {
			if enc.Encode(&batch[i]) != nil {
				return
			}
		}
		clear(batch)
	}
}
