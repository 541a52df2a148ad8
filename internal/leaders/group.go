package leaders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// backoffMost is the longest pause after a failed dial of one of several masters: the
// search for the leader must notice soon that it serves.
const backoffMost = 50 * time.Millisecond

// Group is the masters of one group. It is safe for concurrent use. Make one with [New].
type Group struct {
	name    string
	list    []Master
	current atomic.Int32 // index of the one that is called

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when current changes
}

// Master is one of the masters of a group.
type Master struct {
	Address string // host:port
	Peer    *wire.PeerClient
	pool    *client.Pool
}

var (
	_ wire.Registrar        = (*Group)(nil)
	_ wire.MembershipSource = (*Group)(nil)
)

// New returns the masters whose addresses the setting lists (see [Split]). The first call
// dials. o is the options of the connections to each, its name that of the group's master in
// errors; its address is filled in.
func New(setting string, o client.Options, codec *wire.Codec) (*Group, error) {
	g := &Group{name: o.Name, changed: make(chan struct{})}
	addresses := Split(setting)
	if len(addresses) > 1 {
		o.FailFast, o.BackoffMax = true, backoffMost
	}
	for _, address := range addresses {
		o.Address = address
		pool, err := client.New(o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s has the address %q, which cannot be called: %w", o.Name, address, err), g.Close())
		}
		g.list = append(g.list, Master{address, wire.NewPeerClient(pool, codec), pool})
	}
	return g, nil
}

// Close closes the connections.
func (g *Group) Close() (err error) {
	for _, m := range g.list {
		err = errors.Join(err, m.pool.Close())
	}
	return err
}

// Several reports whether the group has more than one master.
func (g *Group) Several() bool { return len(g.list) > 1 }

// Current returns the master that answered last as leader, at first the first one.
func (g *Group) Current() *wire.PeerClient { return g.list[g.current.Load()].Peer }

// Address returns where it serves, host:port.
func (g *Group) Address() string { return g.list[g.current.Load()].Address }

// Prefer makes the master at an address the one that is called from now on. An address
// that the setting does not list changes nothing.
func (g *Group) Prefer(address string) {
	if i := slices.IndexFunc(g.list, func(m Master) bool { return m.Address == address }); i >= 0 {
		g.use(i)
	}
}

// use makes a master the current one, and ends the calls that wait at another.
func (g *Group) use(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if int(g.current.Swap(int32(i))) != i { //nolint:gosec // few
		close(g.changed)
		g.changed = make(chan struct{})
	}
}

func (g *Group) switched() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// whileCurrent returns a context for a call to a master, which also ends when another becomes
// the current one: one that has begun to lead announces itself, while its predecessor, paused or
// cut off, would keep the caller waiting. The caller calls end when the call has ended.
func (g *Group) whileCurrent(ctx context.Context, i int, switched <-chan struct{}) (call context.Context, end func()) {
	call, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-switched:
			case <-call.Done():
				return
			}
			switched = g.switched() // before the current one is read, as by the caller
			if int(g.current.Load()) != i {
				cancel()
				return
			}
		}
	})
	return call, func() { cancel(); watch.Wait() }
}

// List returns all masters in the order of the setting.
func (g *Group) List() []Master { return g.list }

// Deliver implements link.Deliverer: it delivers a batch to the current master.
func (g *Group) Deliver(ctx context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return g.Current().Deliver(ctx, b)
}

// Membership implements [wire.MembershipSource]: it asks the current master, for as long as it
// is the current one.
func (g *Group) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	if !g.Several() {
		return g.Current().Membership(ctx, incarnation, version, wait)
	}
	switched := g.switched() // before the current one is read, so that no switch is missed
	i := int(g.current.Load())
	call, end := g.whileCurrent(ctx, i, switched)
	defer end()
	return g.list[i].Peer.Membership(call, incarnation, version, wait)
}

// Hello says hello to the master that leads, which is called from then on. The error of a
// group with several masters says why no leader was found.
func (g *Group) Hello(ctx context.Context, h *wire.Hello) (wire.HelloReply, error) {
	return search(ctx, g, func(ctx context.Context, p *wire.PeerClient) (r wire.HelloReply, s standing, err error) {
		r, err = p.Hello(ctx, h)
		return r, standing{r.Standby, r.Leader}, err
	})
}

// Snapshot sends a heartbeat to the master that leads, as Hello does.
func (g *Group) Snapshot(ctx context.Context, v *wire.Snapshot) (wire.SnapshotReply, error) {
	return search(ctx, g, func(ctx context.Context, p *wire.PeerClient) (r wire.SnapshotReply, s standing, err error) {
		r, err = p.Snapshot(ctx, v)
		return r, standing{r.Standby, r.Leader}, err
	})
}
