package server

import (
	"container/list"
	"maps"
	"slices"
	"sync"

	"github.com/pigeon-sched/pigeon/thrift/frame"
)

// registry holds the open connections and the caps on them. Callers that have proven nothing have half of the
// places at most. Beyond a cap a new connection takes the place of such a caller, of the address that has most
// of them, so that a crowd at a few addresses shuts nobody out at another.
type registry struct {
	maxAll, maxHost int
	maxCrowd        int // strangers of one source

	mu        sync.Mutex
	stopping  bool
	conns     map[*conn]struct{}
	hosts     map[string]int    // connections by source; never holds a zero
	strangers *list.List        // of *conn, those whose callers have proven nothing, the oldest first
	crowds    map[string]int    // strangers by source; never holds a zero
	callers   map[string]*share // of those with a bound, while they have connections
}

// share is what one caller has.
type share struct {
	conns  int
	memory *frame.Budget // for its frames in flight
}

func newRegistry(maxAll, maxHost, maxCrowd int) *registry {
	return &registry{
		maxAll: maxAll, maxHost: maxHost, maxCrowd: maxCrowd,
		conns: make(map[*conn]struct{}), hosts: make(map[string]int), strangers: list.New(), crowds: make(map[string]int), callers: make(map[string]*share),
	}
}

// admit adds c, as a stranger, and returns the connection whose place it takes, which is to be closed; or it
// returns why c may not be added. Finished means that the server stops.
func (r *registry) admit(c *conn) (displaced *conn, why Reason, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopping:
		return nil, Finished, false
	case r.hosts[c.host] >= r.maxHost || r.crowds[c.host] >= r.maxCrowd:
		if displaced = r.oldestStranger(c.host); displaced == nil {
			return nil, HostFull, false
		}
	case len(r.conns) >= r.maxAll || r.strangers.Len() >= max(1, r.maxAll/2):
		if displaced = r.oldestStranger(r.largestCrowd()); displaced == nil {
			return nil, Full, false
		}
	}
	if displaced != nil {
		r.drop(displaced)
	}
	r.conns[c] = struct{}{}
	r.hosts[c.host]++
	c.stranger = r.strangers.PushBack(c)
	r.crowds[c.host]++
	return displaced, Finished, true
}

// largestCrowd returns the source with most strangers.
func (r *registry) largestCrowd() (host string) {
	for h, n := range r.crowds {
		if n > r.crowds[host] {
			host = h
		}
	}
	return host
}

// oldestStranger returns the stranger of a source that was accepted first, nil for none.
func (r *registry) oldestStranger(host string) *conn {
	for e := r.strangers.Front(); e != nil && r.crowds[host] > 0; e = e.Next() {
		if c, _ := e.Value.(*conn); c.host == host {
			return c
		}
	}
	return nil
}

// remove removes an admitted connection.
func (r *registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(c)
	r.unclaim(c)
}

// drop gives the place of c to others, once. It needs the lock.
func (r *registry) drop(c *conn) {
	if _, open := r.conns[c]; !open {
		return
	}
	delete(r.conns, c)
	r.acquainted(c)
	decrement(r.hosts, c.host)
}

// acquainted makes c a connection that is no stranger's. It needs the lock.
func (r *registry) acquainted(c *conn) {
	if c.stranger != nil {
		r.strangers.Remove(c.stranger)
		c.stranger = nil
		decrement(r.crowds, c.host)
	}
}

func decrement(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// claim counts a connection for its caller, who has proven who it is or has not, in place of the one for which
// it was counted before, and returns what the caller has with it; "" is a caller without a bound, which has all
// of the memory, and for which nothing is counted.
func (r *registry) claim(c *conn, who string, proven bool) share {
	r.mu.Lock()
	defer r.mu.Unlock()
	if proven {
		r.acquainted(c)
	}
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
