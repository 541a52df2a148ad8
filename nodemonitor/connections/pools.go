// Package connections keeps connections to processes that a node monitor calls at
// addresses it has received: frontends, and backend processes of applications.
package connections

import (
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// maxPools bounds the addresses to which connections are kept; one more evicts the
// pool that has been idle the longest.
const maxPools = 1024

// Pools keeps one pool of connections for each address. It is safe for concurrent
// use. Make one with [New].
type Pools struct {
	name     string // of the processes called, in errors
	security client.Security

	mu     sync.Mutex
	byAddr map[string]*usedPool
	closed bool
	ending sync.WaitGroup // pools that were evicted
}

type usedPool struct {
	*client.Pool
	lastUse time.Time
}

// New returns an empty set of pools; errors use the name for the processes, and calls to them
// use security.
func New(name string, security client.Security) *Pools {
	return &Pools{name: name, security: security, byAddr: map[string]*usedPool{}}
}

// At returns the connections to an address.
func (p *Pools) At(address string) (*client.Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byAddr[address]; u != nil {
		u.lastUse = time.Now()
		return u.Pool, nil
	}
	if len(p.byAddr) >= maxPools {
		p.evict()
	}
	pool, err := client.New(client.Options{Name: p.name, Address: address, FailFast: true, MaxFrame: server.ClientMaxFrame, Security: p.security})
	if err != nil {
		return nil, err
	}
	p.byAddr[address] = &usedPool{pool, time.Now()}
	if p.closed {
		_ = pool.Close() // calls fail at once; it has no error
	}
	return pool, nil
}

// evict closes the least recently used pool. A call in progress on it fails, as it may at any
// time. It needs the lock.
func (p *Pools) evict() {
	idlest := ""
	for address, u := range p.byAddr {
		if idlest == "" || u.lastUse.Before(p.byAddr[idlest].lastUse) {
			idlest = address
		}
	}
	u := p.byAddr[idlest]
	delete(p.byAddr, idlest)
	p.ending.Go(func() { _ = u.Close() }) // it waits for its calls; it has no error
}

// Close ends the calls in progress. It is safe twice.
func (p *Pools) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, u := range p.byAddr {
		_ = u.Close() // it has no error
	}
	p.ending.Wait()
}
