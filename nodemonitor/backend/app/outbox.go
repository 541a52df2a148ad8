package app

import "sync"

// outbox calls functions one at a time, in the order they were put in, by
// whoever flushes first. Changes are put in under the registry's lock and called
// without it, so that a callback may call the registry again.
type outbox struct {
	mu    sync.Mutex
	queue []func()
	busy  bool // somebody is calling
}

func (o *outbox) put(f func()) {
	o.mu.Lock()
	o.queue = append(o.queue, f)
	o.mu.Unlock()
}

// flush calls what is queued, unless another flush is at it and will.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy {
		return
	}
	o.busy = true
	for len(o.queue) > 0 {
		batch := o.queue
		o.queue = nil
		o.mu.Unlock()
		for _, f := range batch {
			f()
		}
		o.mu.Lock()
	}
	o.busy = false
}

// drain returns when everything put in before has been called, by whomever.
func (o *outbox) drain() {
	last := make(chan struct{})
	o.put(func() { close(last) })
	o.flush()
	<-last
}
