package guard

import (
	"encoding/gob"
	"io"
	"sync"
)

// outbox sends events without ever holding up the one who puts them in. It holds
// two events per attempt at most, and the client bounds the attempts.
type outbox struct {
	mu    sync.Mutex
	ready *sync.Cond
	queue []Event
}

func newOutbox() *outbox {
	o := &outbox{}
	o.ready = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) put(e Event) {
	o.mu.Lock()
	o.queue = append(o.queue, e)
	o.mu.Unlock()
	o.ready.Signal()
}

// send writes events until the writer fails, which means that the client is gone.
func (o *outbox) send(w io.Writer) {
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
