package server

import (
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// registry holds the open connections and the caps on them.
type registry struct {
	maxAll, maxHost int

	mu       sync.Mutex
	stopping bool
	conns    map[*conn]struct{}
	hosts    map[string]int    // connections by IP address; never holds a zero
	callers  map[string]*share // of those with a bound, while they have connections
}

// share is what one caller has.
type share struct {
	conns  int
	memory *frame.Budget // for its frames in flight
}

func newRegistry(maxAll, maxHost int) *registry {
	return &registry{
		maxAll: maxAll, maxHost: maxHost,
		conns: make(map[*conn]struct{}), hosts: make(map[string]int), callers: make(map[string]*share),
	}
}

// admit adds c, or returns why it may not. Finished means that the server stops.
func (r *registry) admit(c *conn) (Reason, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopping:
		return Finished, false
	case len(r.conns) >= r.maxAll:
		return Full, false
	case r.hosts[c.host] >= r.maxHost:
		return HostFull, false
	}
	r.conns[c] = struct{}{}
	r.hosts[c.host]++
	return Finished, true
}

// remove removes an admitted connection.
func (r *registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	r.unclaim(c)
	if r.hosts[c.host]--; r.hosts[c.host] == 0 {
		delete(r.hosts, c.host)
	}
}

// claim counts a connection for its caller, in place of the one for which it was counted
// before, and returns what the caller has with it; "" is a caller without a bound, which has all of
// the memory, and for which nothing is counted.
func (r *registry) claim(c *conn, who string) share {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unclaim(c)
	if who == "" {
		return share{memory: c.server.budget}
	}
	s := r.callers[who]
	if s == nil {
		s = &share{memory: c.server.budget.Part(c.server.opts.memoryOfCaller())}
		r.callers[who] = s
	}
	s.conns++
	c.claimed = who
	return *s
}

// unclaim undoes claim. It needs the lock.
func (r *registry) unclaim(c *conn) {
	if c.claimed == "" {
		return
	}
	s := r.callers[c.claimed]
	if s.conns--; s.conns == 0 {
		delete(r.callers, c.claimed)
	}
	c.claimed = ""
}

func (r *registry) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

// all returns the open connections.
func (r *registry) all() []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.AppendSeq(make([]*conn, 0, len(r.conns)), maps.Keys(r.conns))
}

// each calls do for every open connection and admits none from then on.
func (r *registry) each(do func(*conn)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
	for c := range r.conns {
		do(c)
	}
}

// hostOf is the key of the cap per address: the IP address without the port. A
// peer without one, such as a pipe, is its own host.
func hostOf(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return a.String()
}
