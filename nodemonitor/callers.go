package nodemonitor

import (
	"context"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxPools bounds the addresses to which connections are kept; another one makes
// the idlest go.
const maxPools = 1024

// pools lends connections to whom this node calls by addresses that it was told.
type pools struct {
	name string // of who is called, in errors

	mu     sync.Mutex
	byAddr map[string]*usedPool
	closed bool
	ending sync.WaitGroup // pools that were evicted
}

type usedPool struct {
	*client.Pool
	at time.Time
}

func newPools(name string) *pools { return &pools{name: name, byAddr: map[string]*usedPool{}} }

// at returns the connections to an address.
func (p *pools) at(address string) (*client.Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.byAddr[address]; u != nil {
		u.at = time.Now()
		return u.Pool, nil
	}
	if len(p.byAddr) >= maxPools {
		p.evict()
	}
	pool, err := client.New(client.Options{Name: p.name, Address: address, FailFast: true, MaxFrame: 8 << 20})
	if err != nil {
		return nil, err
	}
	p.byAddr[address] = &usedPool{pool, time.Now()}
	if p.closed {
		_ = pool.Close() // calls fail at once; it has no error
	}
	return pool, nil
}

// evict closes the pool that was not used for the longest. A call under way on it
// fails, as it may at any time. It needs the lock.
func (p *pools) evict() {
	idlest := ""
	for address, u := range p.byAddr {
		if idlest == "" || u.at.Before(p.byAddr[idlest].at) {
			idlest = address
		}
	}
	u := p.byAddr[idlest]
	delete(p.byAddr, idlest)
	p.ending.Go(func() { _ = u.Close() }) // it waits for its calls; it has no error
}

// close ends the calls under way.
func (p *pools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, u := range p.byAddr {
		_ = u.Close() // it has no error
	}
	p.ending.Wait()
}

// callers makes Reports calls, each on a goroutine of its own; the owner makes
// one at a time for each frontend.
type callers struct {
	codec   *wire.Codec
	ctx     context.Context // ends the calls
	timeout time.Duration
	pools   *pools
	busy    sync.WaitGroup
}

var _ reporter = (*callers)(nil)

// Report implements reporter.
func (c *callers) Report(address string, b *wire.Batch, back func(wire.ReportsReply, error)) {
	c.busy.Go(func() {
		pool, err := c.pools.at(address)
		if err != nil {
			back(wire.ReportsReply{}, err)
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
		defer cancel()
		back(wire.NewPeerClient(pool, c.codec).Reports(ctx, b))
	})
}

// close waits for the calls, whose context has ended.
func (c *callers) close() {
	c.busy.Wait()
	c.pools.close()
}
