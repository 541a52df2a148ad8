package server

import (
	"context"
	"time"
)

// goneEvery is how often the server looks for callers that have gone while their call runs.
const goneEvery = time.Second

// watchCallers ends the calls whose callers have gone, until ctx is done: nothing is read from a
// connection while a call runs, and a long poll of a caller that was killed would otherwise keep
// its connection, its memory and its place among those who wait until the poll ends by itself.
func (s *Server) watchCallers(ctx context.Context) {
	t := time.NewTicker(goneEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, c := range s.conns.all() {
				c.endIfGone()
			}
		}
	}
}

// endIfGone ends the context of a call whose caller has gone. The call of a moment ago is left
// alone: most end by themselves before the next look.
func (c *conn) endIfGone() {
	c.mu.Lock()
	look := c.busy && c.looked
	c.looked = c.busy
	c.mu.Unlock()
	if look && hasGone(c.socket) {
		c.leave()
	}
}
