package app

import "sync"

// callbackQueue calls functions one at a time, in the order in which they were put in,
// on the goroutine that flushes first. Callbacks are put in under the registry's lock
// and called without it, so that a callback may call the registry again.
type callbackQueue struct {
	mu    sync.Mutex
	queue []func()
	busy  bool // a goroutine is calling
}

func (o *callbackQueue) put(f func()) {
	o.mu.Lock()
	o.queue = append(o.queue, f)
	o.mu.Unlock()
}

// flush calls what is queued, unless another flush does already.
func (o *callbackQueue) flush() {
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

// drain returns when everything that was put in before has been called.
func (o *callbackQueue) drain() {
	last := make(chan struct{})
	o.put(func() { close(last) })
	o.flush()
	<-last
}
