package frontend_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Batches that wait for the core are bounded by their bytes; the refusal names the limit, and
// the sender may try again when the core has caught up.
func TestBytesOfWaitingBatchesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.master()
	f := w.frontend(func(c *frontend.Config) { c.InboxBytes = wire.MaxBatchBytes })
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	f.Hold(release)
	sequence := uint64(0)
	deliver := func() error {
		sequence++
		from := wire.Ref{Role: sched.Master, Name: "of the test"}
		_, err := f.Deliver(t.Context(), &wire.Batch{
			Sender: from, Receiver: wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}, Address: "127.0.0.1:1", Incarnation: 1, Sequence: sequence,
			Items: []wire.Item{{From: from, Msg: sched.Message{Kind: sched.Serves, Reason: strings.Repeat("x", 1<<20)}}},
		})
		return err
	}
	for i := range 3 {
		if err := deliver(); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	err := deliver()
	if e := refusal(t, err); e.Problem != api.Busy || e.RetryAfter == 0 || !strings.Contains(e.What, "(inbox_bytes 4194304)") {
		t.Errorf("beyond the limit: %v", err)
	}
	if n, ok := f.Metric(t, "pigeon_frontend_inbox_refused_total", ""); !ok || n != 1 {
		t.Errorf("%v batches are counted as refused, want 1", n)
	}
	if n, ok := f.Metric(t, "pigeon_frontend_inbox_bytes", ""); !ok || n < 3<<20 || n > wire.MaxBatchBytes {
		t.Errorf("%v bytes wait", n)
	}
	let()
	daemontest.Await(t, "there is room again", func() bool { return deliver() == nil })
	daemontest.Await(t, "nothing waits", func() bool { n, _ := f.Metric(t, "pigeon_frontend_inbox_bytes", ""); return n == 0 })
}
