package inventory

import (
	"context"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// quickFailures is after how many failures in a row a frontend is called no more often
// than one that answers.
const quickFailures = 6

func pauseAfter(failures int) time.Duration { return connections.PauseAfter(failures) }

// Calls is a Caller by Thrift, each call on a goroutine of its own; [Inventories] make one
// at a time for each frontend.
type Calls struct {
	ctx     context.Context // ends the calls
	codec   *wire.Codec
	timeout time.Duration
	pools   *connections.Pools
	busy    sync.WaitGroup
}

var _ Caller = (*Calls)(nil)

// NewCalls returns a caller whose calls end with ctx, or after the timeout.
func NewCalls(ctx context.Context, codec *wire.Codec, timeout time.Duration, pools *connections.Pools) *Calls {
	return &Calls{ctx: ctx, codec: codec, timeout: timeout, pools: pools}
}

// Inventory implements Caller.
func (c *Calls) Inventory(address string, v *wire.Inventory, back func(wire.InventoryReply, error)) {
	c.busy.Go(func() {
		pool, err := c.pools.At(address)
		if err != nil {
			back(wire.InventoryReply{}, err)
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
		defer cancel()
		back(wire.NewPeerClient(pool, c.codec).Inventory(ctx, v))
	})
}

// Wait returns when no call is under way.
func (c *Calls) Wait() { c.busy.Wait() }
