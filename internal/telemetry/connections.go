package telemetry

import (
	"container/list"
	"net"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/listener"
)

// connections is a listener that bounds the connections it has accepted. At the bound, the one
// that has been without a request for the longest time, of the source with most of these, is closed for a new one:
// callers that only hold connections, or come again and again, shut no other caller out. One is busy while a handler answers its request.
//
//	accepted, idle ──begin──▶ busy ──end──▶ idle ──the longest idle, at the bound──▶ closed
type connections struct {
	net.Listener
	most  int // in all
	ofOne int // of one source that is not loopback

	mu        sync.Mutex
	open      int
	byAddress map[string]int
	idle      *list.List // of *connection, the longest idle first
}

func limit(l net.Listener, most, ofOne int) *connections {
	return &connections{Listener: l, most: most, ofOne: ofOne, byAddress: map[string]int{}, idle: list.New()}
}

// connection is one that was accepted.
type connection struct {
	net.Conn
	set     *connections
	address string // of the caller, without a port; "" on loopback
	caller  caller

	// These are guarded by the set.
	place  *list.Element // in the idle ones; nil while it is busy
	busy   int           // requests that are being answered
	closed bool
}

// Accept implements net.Listener.
func (s *connections) Accept() (net.Conn, error) {
	for {
		raw, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: raw, set: s, address: addressOf(raw)}
		victim, ok := s.admit(c)
		if victim != nil {
			_ = victim.Close() // no caller waits for an answer there
		}
		if ok {
			return c, nil
		}
		_ = raw.Close() // all others are answered just now
	}
}

// addressOf returns the source of a caller, "" for one on this machine.
func addressOf(c net.Conn) string {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok || a.IP.IsLoopback() {
		return ""
	}
	return listener.Source(a)
}

// admit enters a connection, and returns the one to close for it; false when none can be closed.
func (s *connections) admit(c *connection) (victim *connection, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.address != "" && s.byAddress[c.address] >= s.ofOne:
		victim = s.longestIdle(func(address string) bool { return address == c.address })
	case s.open >= s.most:
		idle, largest := map[string]int{}, 0
		for e := s.idle.Front(); e != nil; e = e.Next() {
			c, _ := e.Value.(*connection)
			idle[c.address]++
			largest = max(largest, idle[c.address])
		}
		victim = s.longestIdle(func(address string) bool { return idle[address] == largest })
	default:
		s.enter(c)
		return nil, true
	}
	if victim == nil {
		return nil, false
	}
	s.remove(victim)
	s.enter(c)
	return victim, true
}

// longestIdle returns the connection that has been idle for the longest time, of the addresses that are of.
func (s *connections) longestIdle(of func(address string) bool) *connection {
	for e := s.idle.Front(); e != nil; e = e.Next() {
		if c, _ := e.Value.(*connection); of(c.address) {
			return c
		}
	}
	return nil
}

func (s *connections) enter(c *connection) {
	s.open++
	s.byAddress[c.address]++
	c.place = s.idle.PushBack(c)
}

// remove forgets a connection, once.
func (s *connections) remove(c *connection) {
	if c.closed {
		return
	}
	c.closed = true
	s.open--
	if s.byAddress[c.address]--; s.byAddress[c.address] == 0 {
		delete(s.byAddress, c.address)
	}
	if c.place != nil {
		s.idle.Remove(c.place)
		c.place = nil
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.set.mu.Lock()
	c.set.remove(c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// begin is called when the answer to a request of the connection begins, end when it has ended.
func (c *connection) begin() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if c.busy++; c.place != nil {
		c.set.idle.Remove(c.place)
		c.place = nil
	}
}

func (c *connection) end() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if c.busy--; c.busy == 0 && !c.closed {
		c.place = c.set.idle.PushBack(c)
	}
}
