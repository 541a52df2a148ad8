package connections

import (
	"context"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Calls calls frontends, each call on a goroutine of its own. Make one with [NewCalls].
type Calls struct {
	ctx     context.Context // ends the calls
	codec   *wire.Codec
	timeout time.Duration
	pools   *Pools
	busy    sync.WaitGroup
}

// NewCalls returns a caller whose calls end with ctx, or after the timeout.
func NewCalls(ctx context.Context, codec *wire.Codec, timeout time.Duration, pools *Pools) *Calls {
	return &Calls{ctx: ctx, codec: codec, timeout: timeout, pools: pools}
}

// Report reports results to the frontend at the address, and calls back once.
func (c *Calls) Report(address string, b *wire.Batch, back func(wire.ReportsReply, error)) {
	start(c, address, back, func(ctx context.Context, p *wire.PeerClient) (wire.ReportsReply, error) { return p.Reports(ctx, b) })
}

// Inventory reports to the frontend at the address what this node holds of it, and calls
// back once.
func (c *Calls) Inventory(address string, v *wire.Inventory, back func(wire.InventoryReply, error)) {
	start(c, address, back, func(ctx context.Context, p *wire.PeerClient) (wire.InventoryReply, error) { return p.Inventory(ctx, v) })
}

func start[R any](c *Calls, address string, back func(R, error), call func(context.Context, *wire.PeerClient) (R, error)) {
	c.busy.Go(func() {
		pool, err := c.pools.At(address)
		if err != nil {
			var none R
			back(none, err)
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
		defer cancel()
		back(call(ctx, wire.NewPeerClient(pool, c.codec)))
	})
}

// Wait returns when no call is in progress.
func (c *Calls) Wait() { c.busy.Wait() }
