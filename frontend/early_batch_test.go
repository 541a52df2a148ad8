package frontend_test

import (
	"context"
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// eagerMaster is a master that sends a batch to a frontend before it answers its hello.
type eagerMaster struct {
	t     *testing.T
	w     *world
	inbox *link.Inbox

	mu   sync.Mutex
	sent bool
	got  []wire.Item
}

const eagerIncarnation = 77

func (h *eagerMaster) Hello(ctx context.Context, hello *wire.Hello) (wire.HelloReply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	self := addrmap.MasterRef(0)
	if !h.sent {
		h.sent = true
		holding := sched.Message{Kind: sched.Holding, Job: sched.NewJobID(sched.JobScope(hello.Sender.Name), "gone"), Attempt: 1}
		if _, err := h.w.peer(hello.Address).Deliver(ctx, &wire.Batch{
			Sender: self, Receiver: hello.Sender, Incarnation: eagerIncarnation, Sequence: 1, Epoch: 1, Items: []wire.Item{{From: self, To: hello.Sender, Msg: holding}},
		}); err != nil {
			h.t.Error(err)
		}
	}
	return wire.HelloReply{Sender: self, Incarnation: eagerIncarnation, Epoch: 1, Accepted: true, Serves: []string{""}}, nil
}

func (h *eagerMaster) Snapshot(context.Context, *wire.Snapshot) (wire.SnapshotReply, error) {
	return wire.SnapshotReply{}, nil
}

func (h *eagerMaster) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return h.inbox.Accept(b, func(b *wire.Batch) (string, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, b.Items...)
		return "", nil
	})
}

// A batch that a master sends before its answer to the hello was read is not dropped: an
// attempt of an unknown job is killed.
func TestEarlyBatch(t *testing.T) {
	w := &world{t: t}
	h := &eagerMaster{t: t, w: w, inbox: link.NewInbox(addrmap.MasterRef(0), eagerIncarnation)}
	s, err := server.New(wire.PeerProcessor(wire.PeerPorts{Batches: h, Registrar: h}, daemontest.Codec()), server.Options{
		Name: "master", Address: "127.0.0.1:0", MaxFrame: wire.MaxBatchBytes, Log: daemontest.Log(t), Security: servertest.Anybody(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	w.masters = []string{s.Addr().String()}
	f, err := frontend.New(w.settings(), daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	daemontest.Run(t, s)
	daemontest.Run(t, f)
	gone := sched.NewJobID(sched.JobScope(w.frontendID(0)), "gone")
	daemontest.Await(t, "the attempt is dropped", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, it := range h.got {
			if it.Msg.Kind == sched.Drop && it.Msg.Job == gone {
				return true
			}
		}
		return false
	})
}
