package frontend_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/inventory"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// listing is a node that lists what it holds to a frontend.
type listing struct {
	*inventory.Inventories
	t       *testing.T
	held    []sched.AttemptID
	peer    *wire.PeerClient
	refused chan<- int // the attempts of a call that was refused
	posted  chan func()
	calls   sync.WaitGroup
}

// listingOf returns the listing of a node's process.
func listingOf(t *testing.T, f *frontOf, node *daemontest.Peer, refused chan<- int) *listing {
	l := &listing{t: t, peer: node.Master(), refused: refused, posted: make(chan func(), 100)}
	t.Cleanup(l.calls.Wait)
	clock := runloop.NewClock()
	l.Inventories = inventory.New(inventory.Config{
		Self: &wire.Sender{Ref: node.Ref, Incarnation: node.Incarnation},
		Held: func(visit func(*inventory.Attempt)) {
			for _, id := range l.held {
				visit(&inventory.Attempt{ID: id, Distributor: sched.Addr{Role: sched.Distributor}})
			}
		},
		Frontend: func(sched.Addr) (string, string) { return f.cfg.ID, f.InternalAddr() },
		Calls:    l, Now: clock.Now, Post: func(do func()) { l.posted <- do }, NoMaster: func() bool { return false },
		Log: daemontest.Log(t), Metrics: inventory.NewMetrics(telemetry.NewMetrics("test")),
	}, 0, 0)
	return l
}

// Inventory implements [inventory.Caller].
func (l *listing) Inventory(_ string, v *wire.Inventory, back func(wire.InventoryReply, error)) {
	l.calls.Go(func() {
		r, err := l.peer.Inventory(context.Background(), v)
		if e := asAPI(err); e != nil && e.Problem == api.Busy {
			n := 0
			for i := range v.Slots {
				n += len(v.Slots[i].Attempts)
			}
			l.refused <- n
		}
		back(r, err)
	})
}

// await lists until a call was refused, and returns how many attempts that listed.
func (l *listing) await(refused <-chan int) int {
	l.t.Helper()
	l.AllDue()
	for {
		l.Flush()
		select {
		case n := <-refused:
			return n
		case do := <-l.posted:
			do()
		case <-time.After(await.Limit):
			l.t.Fatal("the inventory is not listed")
		}
	}
}
