package frontend_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/nodemonitor/inventory"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A round of inventories of 100 nodes for 10 frontends, each of which has six tasks at each
// node: 1,000 calls over Thrift, both sides in this process. They come every five seconds,
// so the share of a core that all 110 daemons spend on them is cpu-ms/round / 5000.
func BenchmarkInventory(b *testing.B) {
	const nodes, fronts, each = 100, 10, 6
	w := newWorld(b)
	w.master()
	addresses, jobs := make([]string, fronts), make([]sched.JobID, fronts)
	for i := range fronts {
		f := w.frontend(func(c *frontend.Config) { c.ID = fmt.Sprint("f", i) })
		w.submit(f, sleeps("job", nodes*each, time.Hour)) // held: no node serves it
		addresses[i], jobs[i] = f.InternalAddr(), f.JobID("job")
	}
	var busy sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var now sched.Time
	list := make([]*benchNode, nodes)
	for i := range list {
		pools := connections.New("frontend", client.Security{})
		defer pools.Close()
		n := &benchNode{posted: make(chan func(), fronts), calls: connections.NewCalls(ctx, daemontest.Codec(), 10*time.Second, pools), busy: &busy}
		list[i] = n
		n.Inventories = inventory.New(inventory.Config{
			Self: &wire.Sender{Ref: wire.Ref{Role: sched.Worker, Name: fmt.Sprint("n", i)}, Incarnation: 1, Address: "127.0.0.1:1"},
			Held: func(visit func(*inventory.Attempt)) {
				for f := range fronts {
					for task := range each {
						visit(&inventory.Attempt{
							ID:          sched.AttemptID{Job: jobs[f], Task: int32(i*each + task), Attempt: 1},         //nolint:gosec // small
							Distributor: sched.Addr{Role: sched.Distributor, ID: int32(f)}, Slot: int32(f*each + task), //nolint:gosec // small
						})
					}
				}
			},
			Frontend: func(a sched.Addr) (string, string) { return fmt.Sprint("f", a.ID), addresses[a.ID] },
			Calls:    n, Now: func() sched.Time { return now }, Post: func(f func()) { n.posted <- f },
			Unwanted: func(_ sched.Addr, ids []sched.AttemptID) (int, int) {
				b.Errorf("%d of the attempts are not wanted", len(ids))
				return 0, 0
			},
			Restarted: func(sched.Addr) {}, NoMaster: func() bool { return false },
			Log: slog.New(slog.DiscardHandler), Metrics: inventory.NewMetrics(telemetry.NewMetrics(fmt.Sprint("test", i))),
		}, 0, 0)
	}
	round := func() {
		now += inventory.Every
		for _, n := range list {
			n.Flush()
		}
		busy.Wait()
		for _, n := range list {
			n.handle(fronts)
		}
	}
	round() // dials
	began := cpu(b)
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/1e6/float64(b.N), "cpu-ms/round")
}

// benchNode holds the inventories of one node.
type benchNode struct {
	*inventory.Inventories
	calls  *connections.Calls
	posted chan func()
	busy   *sync.WaitGroup
}

// Inventory implements inventory.Caller.
func (n *benchNode) Inventory(address string, v *wire.Inventory, back func(wire.InventoryReply, error)) {
	n.busy.Add(1)
	n.calls.Inventory(address, v, func(r wire.InventoryReply, err error) {
		back(r, err)
		n.busy.Done()
	})
}

// handle runs what the answers have posted.
func (n *benchNode) handle(answers int) {
	for range answers {
		(<-n.posted)()
	}
}
