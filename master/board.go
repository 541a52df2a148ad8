package master

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of the questions for the roll that wait for a change.
const (
	maxWaiters  = 8192
	maxRollWait = 30 * time.Second
)

// board is where the roll hangs: the owner puts it up, any goroutine reads it or
// waits for the next.
type board struct {
	group int

	mu      sync.Mutex
	roll    wire.Roll     // its lists are never changed
	changed chan struct{} // closed when another roll is put up
	waiters int
}

func newBoard(group int, incarnation int64) *board {
	return &board{group: group, roll: wire.Roll{Incarnation: incarnation, Version: 1}, changed: make(chan struct{})}
}

// put puts up another roll, under the next version.
func (b *board) put(nodes []wire.RollNode, frontends []wire.RollFrontend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll.Version++
	b.roll.Nodes, b.roll.Frontends = nodes, frontends
	close(b.changed)
	b.changed = make(chan struct{})
}

// look gives the roll when it is another than the one named, and else what tells
// that it has changed.
func (b *board) look(incarnation int64, version uint64) (r wire.Roll, changed <-chan struct{}, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.roll, b.changed, b.roll.Incarnation != incarnation || b.roll.Version != version
}

// Roll implements [wire.RollKeeper].
func (b *board) Roll(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Roll, error) {
	r, changed, fresh := b.look(incarnation, version)
	if fresh || wait <= 0 {
		return r, nil
	}
	if !b.enter() {
		return wire.Roll{}, &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("%d questions for the roll wait already, which is the limit", maxWaiters),
			Subject: fmt.Sprintf("master of group %d", b.group), Next: "ask again", RetryAfter: time.Second,
		}
	}
	defer b.leave()
	timer := time.NewTimer(min(wait, maxRollWait))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return wire.Roll{}, ctx.Err()
	}
	r, _, _ = b.look(incarnation, version)
	return r, nil
}

func (b *board) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters >= maxWaiters {
		return false
	}
	b.waiters++
	return true
}

func (b *board) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiters--
}
