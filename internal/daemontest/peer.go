package daemontest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Peer stands in for a node monitor or a frontend and does only what a test calls. It
// serves and calls over real Thrift, and keeps the messages that it receives.
type Peer struct {
	t           testing.TB
	Ref         wire.Ref
	Group       int
	Incarnation int64
	Names       *addrmap.Map
	Codec       *wire.Codec
	address     string
	server      *Process
	master      *wire.PeerClient
	inbox       *link.Inbox
	sequence    atomic.Uint64

	// Unknown counts the messages of kinds that its version does not know.
	Unknown atomic.Int64

	// Refuse is the problem with which batches are refused, nil for none.
	Refuse atomic.Pointer[string]

	mu      sync.Mutex
	items   []wire.Item
	batches []*wire.Batch
}

var _ wire.BatchReceiver = (*Peer)(nil)

// anyPort is the address of a peer on a free port.
const anyPort = "127.0.0.1:0"

// Node returns a node monitor whose master is at the address.
func Node(t testing.TB, name, master string) *Peer {
	return newPeer(t, wire.Ref{Role: sched.Worker, Name: name}, master, anyPort)
}

// EarlierNode is Node of a version that does not know some kinds of messages.
func EarlierNode(t testing.TB, name, master string, unknown ...sched.Kind) *Peer {
	return newPeer(t, wire.Ref{Role: sched.Worker, Name: name}, master, anyPort, unknown...)
}

// NodeAt is Node with the address at which the peer serves.
func NodeAt(t testing.TB, name, master, listen string) *Peer {
	return newPeer(t, wire.Ref{Role: sched.Worker, Name: name}, master, listen)
}

// Frontend returns a frontend whose master is at the address.
func Frontend(t testing.TB, name, master string) *Peer {
	return newPeer(t, wire.Ref{Role: sched.Distributor, Name: name}, master, anyPort)
}

func newPeer(t testing.TB, ref wire.Ref, master, listen string, unknown ...sched.Kind) *Peer {
	t.Helper()
	names := addrmap.New()
	p := &Peer{t: t, Ref: ref, Incarnation: rand.Int64N(1<<62) + 1, Names: names, Codec: wire.NewCodec(names, runloop.NewClock().Now)}
	p.Codec.Unlearn(unknown...)
	p.Codec.OnUnknown(func(wire.Ref, int8) { p.Unknown.Add(1) })
	p.inbox = link.NewInbox(ref, p.Incarnation)
	p.master = Dial(t, master, p.Codec)
	p.serve(listen)
	return p
}

func (p *Peer) serve(listen string) {
	p.t.Helper()
	s, err := p.listen(listen)
	for try := 0; err != nil && listen == anyPort && try < 100; try++ {
		s, err = p.listen(listen)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.address = s.Addr().String()
	p.server = Run(p.t, s)
}

// listen opens the port. A free one is from below those that the kernel assigns to outgoing
// connections, so that none of these occupies it while the peer is closed.
func (p *Peer) listen(address string) (*server.Server, error) {
	if address == anyPort {
		address = fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(8_000))
	}
	s, err := server.New(wire.PeerProcessor(wire.PeerPorts{Batches: p}, p.Codec), server.Options{
		Name: p.Ref.String(), Address: address, MaxFrame: wire.MaxBatchBytes, Log: Log(p.t), Security: servertest.Anybody(),
	})
	if err == nil {
		err = s.Listen()
	}
	return s, err
}

// Close ends the peer's service; it can still call others.
func (p *Peer) Close() { p.server.Stop() }

// Reopen serves again at the peer's address after Close, with the same incarnation.
func (p *Peer) Reopen() { p.serve(p.address) }

// Codec returns a codec with its own directory and clock.
func Codec() *wire.Codec { return wire.NewCodec(addrmap.New(), runloop.NewClock().Now) }

// Dial returns a client of a daemon's internal service.
func Dial(t testing.TB, address string, codec *wire.Codec) *wire.PeerClient {
	t.Helper()
	pool, err := client.New(client.Options{Name: "peer", Address: address, MaxConns: 4, BackoffMax: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() }) // it has no error
	return wire.NewPeerClient(pool, codec)
}

// Address returns the address at which the peer serves.
func (p *Peer) Address() string { return p.address }

// Master returns the client of the peer's master.
func (p *Peer) Master() *wire.PeerClient { return p.master }

// Deliver keeps a batch of the master.
func (p *Peer) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return p.inbox.Accept(b, func(b *wire.Batch) (string, error) {
		if why := p.Refuse.Load(); why != nil {
			return *why, nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.batches = append(p.batches, b)
		p.items = append(p.items, b.Items...)
		return "", nil
	})
}

// Got returns the received messages of the kind, in order.
func (p *Peer) Got(kind sched.Kind) []wire.Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.items), func(it wire.Item) bool { return it.Msg.Kind != kind })
}

// AwaitGot waits until n messages of the kind were received and returns them.
func (p *Peer) AwaitGot(kind sched.Kind, n int) []wire.Item {
	p.t.Helper()
	Await(p.t, "messages "+kind.String()+" for "+p.Ref.String(), func() bool { return len(p.Got(kind)) >= n })
	return p.Got(kind)
}

// Epoch returns the epoch of the last batch that was received.
func (p *Peer) Epoch() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.batches) == 0 {
		return 0
	}
	return p.batches[len(p.batches)-1].Epoch
}

// Hello sends h as a hello of the peer, which sets the fields about the sender.
func (p *Peer) Hello(h wire.Hello) wire.HelloReply {
	p.t.Helper()
	h.Sender, h.Incarnation, h.Address, h.Group = p.Ref, p.Incarnation, p.Address(), p.Group
	r, err := p.master.Hello(p.t.Context(), &h)
	if err != nil {
		p.t.Fatalf("the hello of %s: %v", p.Ref, err)
	}
	return r
}

// Register is Hello that must be accepted.
func (p *Peer) Register(h wire.Hello) wire.HelloReply {
	p.t.Helper()
	r := p.Hello(h)
	if !r.Accepted {
		p.t.Fatalf("the hello of %s was refused: %s", p.Ref, r.Problem)
	}
	return r
}

// Snapshot sends a heartbeat with these slots.
func (p *Peer) Snapshot(slots ...wire.Slot) wire.SnapshotReply {
	p.t.Helper()
	r, err := p.master.Snapshot(p.t.Context(), &wire.Snapshot{Sender: p.Ref, Incarnation: p.Incarnation, Slots: slots})
	if err != nil {
		p.t.Fatalf("the snapshot of %s: %v", p.Ref, err)
	}
	return r
}

// Send delivers messages to the master as one batch. Items
// without a sender are sent as the peer's own.
func (p *Peer) Send(items ...wire.Item) {
	p.t.Helper()
	for i := range items {
		if items[i].From == (wire.Ref{}) {
			items[i].From = p.Ref
		}
		items[i].To = addrmap.MasterRef(p.Group)
	}
	b := &wire.Batch{
		Sender: p.Ref, Receiver: addrmap.MasterRef(p.Group), Address: p.Address(), Incarnation: p.Incarnation,
		Sequence: p.sequence.Add(1), Items: items,
	}
	if _, err := p.master.Deliver(p.t.Context(), b); err != nil {
		p.t.Fatalf("%s delivers to its master: %v", p.Ref, err)
	}
}

// Slots returns n idle slots that serve the built-in backends, of sequence number
// seq.
func Slots(n int, seq uint64) []wire.Slot {
	slots := make([]wire.Slot, n)
	for i := range slots {
		slots[i] = wire.Slot{Slot: int32(i), Seq: seq, Serves: []string{""}} //nolint:gosec // few
	}
	return slots
}

// Tasks returns a message for the first count tasks of a job.
func Tasks(job uint64, count int32) wire.Item {
	return wire.Item{
		Msg:   sched.Message{Kind: sched.Tasks, Job: sched.JobID{Hi: 1, Lo: job}, Count: count, Attempt: 1},
		Extra: wire.Extra{JobName: "job", FrontendAddress: "127.0.0.1:1", SchedulerAddress: "127.0.0.1:2", User: "user"},
	}
}
