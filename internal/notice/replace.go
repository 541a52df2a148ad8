package notice

import (
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pauseMin and pauseMax bound the pause before a connection that was closed for good is
	// replaced. It doubles while connections last for less than pauseMax.
	pauseMin = 100 * time.Millisecond
	pauseMax = 10 * time.Second
)

// replaced is what is known of the connections of the library that were closed for good.
type replaced struct {
	reconnects uint64 // of all of them, with their replacements
	at         time.Time
	pause      time.Duration
}

// next returns the pause before a connection that was closed now is replaced.
func (r *replaced) next(now time.Time) time.Duration {
	if r.at.IsZero() || now.Sub(r.at) >= pauseMax {
		r.pause = pauseMin
	} else {
		r.pause = min(2*r.pause, pauseMax)
	}
	return r.pause
}

// gone is called with the last event of a connection of the library. When Close has not closed it,
// the server has sent an error that the library does not know, and it is replaced: a server of
// another version, or one whose limits were changed, may send one.
func (c *Conn) gone(nc *nats.Conn) {
	defer c.ended.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	pause := c.replaced.next(time.Now())
	c.opts.Log.Warn("the NATS server refused something and closed the connection; another one is made", "url", c.opts.Redacted(), "error", nc.LastError(), "retry_after", pause)
	c.active.Go(func() { c.replace(nc, pause) })
}

// replace connects again after a pause, and makes the subscriptions there, unless Close ends it.
func (c *Conn) replace(old *nats.Conn, pause time.Duration) {
	for c.rest(pause) {
		nc, err := c.dial()
		if err == nil {
			c.adopt(old, nc)
			return
		}
		// The same options were good before: a file that they name is gone, or is being replaced.
		pause = min(2*pause, pauseMax)
		c.opts.Log.Warn("a connection to NATS cannot be made; it is tried again", "url", c.opts.Redacted(), "error", c.opts.Explain(err), "retry_after", pause)
	}
}

// rest waits, and reports whether c is still open.
func (c *Conn) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.out.done:
		return false
	}
}

// adopt makes nc the connection of c, with all subscriptions; after Close it closes nc.
func (c *Conn) adopt(old, nc *nats.Conn) {
	if !c.exchange(old, nc) {
		nc.Close()
		return
	}
	c.changed(nc, nil)
}

// exchange reports whether nc is the connection of c now.
func (c *Conn) exchange(old, nc *nats.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.replaced.reconnects += old.Stats().Reconnects + 1
	c.replaced.at = time.Now()
	c.nc.Store(nc)
	for _, s := range c.subs {
		s.before, s.overrun, s.made = s.dropped(), 0, nil
		_ = c.subscribeOn(s, nc) // fails when nc was closed meanwhile; then it is replaced, too
	}
	return true
}
