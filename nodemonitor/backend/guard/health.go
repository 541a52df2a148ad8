package guard

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A guard that does not answer, because it is stopped, hangs, or its machine does nothing else, is noticed within two
// seconds. It is not killed for that: what it runs would end with it.
const (
	pingEvery    = 500 * time.Millisecond
	answerWithin = 1250 * time.Millisecond
	respawnPause = time.Second
)

// Health says whether processes can be started, killed and seen to end.
type Health struct {
	Fault string // why not, "" when they can
	// Faults is how often a guard has not answered, or has ended without being told to.
	Faults uint64
}

// health is what a client knows of its guard.
type health struct {
	mu       sync.Mutex // also held while watchers are called, which so are told in order
	now      Health
	watchers []*func(Health)
}

// set takes over a new state, and tells it to the watchers.
func (h *health) set(fault string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if fault == h.now.Fault {
		return
	}
	if h.now.Fault = fault; fault != "" {
		h.now.Faults++
	}
	for _, w := range h.watchers {
		(*w)(h.now)
	}
}

// Health returns the present state.
func (c *Client) Health() Health {
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	return c.health.now
}

// Strays returns how many processes were killed that had outlived their attempt outside of its group.
func (c *Client) Strays() uint64 { return c.strays.Load() }

// stray reports a process that had outlived its attempt.
func (c *Client) stray(e *Event) {
	c.strays.Add(1)
	c.mu.Lock()
	subject := "an attempt that is not known"
	if a := c.running[e.Handle]; a != nil {
		a.strays++
		subject = a.subject
	} else if l := c.lately[e.Handle%latelyKept]; e.Handle != 0 && l.handle&(1<<handleBits-1) == e.Handle {
		subject = l.subject
	}
	c.mu.Unlock()
	if c.opts.Log != nil {
		c.opts.Log.Warn("a process was killed that had outlived its attempt, outside of its process group", "of", subject, "process", e.Pid, "program", string(e.Tail))
	}
}

// Watch calls changed whenever the health of the guard has changed, until stop is called, and at once when it is at
// fault. It must not call the client.
func (c *Client) Watch(changed func(Health)) (stop func()) {
	h := &c.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers = append(h.watchers, &changed)
	if h.now.Fault != "" {
		changed(h.now)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.watchers = slices.DeleteFunc(h.watchers, func(w *func(Health)) bool { return w == &changed })
	}
}

// watch asks a guard for an answer from time to time, until it is gone.
func (c *Client) watch(g *instance) {
	for {
		c.mu.Lock()
		if !c.ended {
			c.enqueue(request{Op: opPing})
		}
		c.mu.Unlock()
		overdue := time.NewTimer(answerWithin)
		select {
		case <-g.answers:
			c.health.set("")
		case <-overdue.C:
			c.silent(g)
		case <-g.gone:
		}
		overdue.Stop()
		if !g.pause(pingEvery) {
			return
		}
	}
}

// silent waits for the answer of a guard that has not given one in time.
func (c *Client) silent(g *instance) {
	c.health.set(fmt.Sprintf("the guard of its processes (process %d) does not answer: it is stopped, or hangs; what it runs goes on, and is not killed, limited or seen to end meanwhile", g.process.pid()))
	select {
	case <-g.answers:
		c.health.set("")
	case <-g.gone:
	}
}

// pause waits, and returns false when the guard is gone.
func (g *instance) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-g.gone:
		return false
	}
}

// answered records that a guard has sent something.
func (g *instance) answered() {
	select {
	case g.answers <- struct{}{}:
	default: // nobody has taken the last one yet
	}
}

// guardEnded reports that a guard has ended that was not told to, and has another one started.
func (c *Client) guardEnded(g *instance, how string) {
	c.mu.Lock()
	closing := c.ended
	c.mu.Unlock()
	if closing || g.closing.Load() {
		return
	}
	c.health.set(fmt.Sprintf("the guard of its processes (process %d) has ended (%s), and they with it; another one is started", g.process.pid(), how))
	c.StartGuard()
}

// startAnother starts a guard in place of one that has ended, and tries again later when that fails.
func (c *Client) startAnother() (*instance, error) {
	g, err := c.spawn()
	if err != nil {
		time.AfterFunc(respawnPause, c.StartGuard)
		return nil, err
	}
	return g, nil
}
