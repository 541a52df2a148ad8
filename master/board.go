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
	group       int
	incarnation int64
	settled     time.Time     // by then the daemons of an earlier master are here, or lost
	down        chan struct{} // closed when the master stops: nobody waits longer

	mu      sync.Mutex
	roll    wire.Membership // its lists are never changed
	changed chan struct{}   // closed when another roll is put up
	waiters int
}

func newBoard(group int, incarnation int64, lostAfter time.Duration) *board {
	return &board{
		group: group, incarnation: incarnation, settled: time.Now().Add(lostAfter), roll: wire.Membership{Incarnation: incarnation, Version: 1}, changed: make(chan struct{}), down: make(chan struct{}),
	}
}

// put puts up another roll, under the next version.
func (b *board) put(nodes []wire.MemberNode, frontends []wire.MemberFrontend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll.Version++
	b.roll.Nodes, b.roll.Frontends = nodes, frontends
	close(b.changed)
	b.changed = make(chan struct{})
}

// look returns the roll when it is another than the one named, and else what tells
// that it has changed.
func (b *board) look(incarnation int64, version uint64) (r wire.Membership, changed <-chan struct{}, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.roll, b.changed, b.roll.Incarnation != incarnation || b.roll.Version != version
}

// Roll implements [wire.MembershipSource]. Who knows the roll of an earlier master hears
// nothing new until those who were on it have had the time to register again: to be
// on none is to be lost, with all that runs there.
func (b *board) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	wait = min(wait, maxRollWait)
	if early := b.early(incarnation); early > 0 {
		if err := b.pass(ctx, nil, min(early, wait)); err != nil || early > wait {
			return wire.Membership{Incarnation: incarnation, Version: version}, err // as before
		}
	}
	r, changed, fresh := b.look(incarnation, version)
	if fresh || wait <= 0 {
		return r, nil
	}
	if err := b.pass(ctx, changed, wait); err != nil {
		return wire.Membership{}, err
	}
	r, _, _ = b.look(incarnation, version)
	return r, nil
}

// early is how long who knows the roll of that master has to wait for this one's.
func (b *board) early(incarnation int64) time.Duration {
	if incarnation == 0 || incarnation == b.incarnation {
		return 0
	}
	return time.Until(b.settled)
}

// pass waits for a change, as one of a bounded number.
func (b *board) pass(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	if !b.enter() {
		return &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("%d questions for the roll wait already, which is the limit", maxWaiters),
			Subject: fmt.Sprintf("master of group %d", b.group), Next: "ask again", RetryAfter: time.Second,
		}
	}
	defer b.leave()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.down:
		return &api.Error{
			Problem: api.NotReady, What: "the master is stopping", Subject: fmt.Sprintf("master of group %d", b.group),
			Tried: "waiting for another roll", Next: "ask the master that comes after it",
		}
	}
	return nil
}

// takeDown ends every wait, now and later. It is called once.
func (b *board) takeDown() { close(b.down) }

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
