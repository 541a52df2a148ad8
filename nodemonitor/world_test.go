package nodemonitor

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// world is a master and a frontend that send what a test tells them to, over real
// Thrift and, where a test wants it, real NATS. Every field below mu is written
// by their handlers; a test waits for what it expects with await.
type world struct {
	t        testing.TB
	names    *addrmap.Map
	codec    *wire.Codec
	master   wire.Ref
	frontend wire.Ref
	node     wire.Ref
	nats     *notice.Embedded
	conn     *notice.Conn

	masterServer   *server.Server
	frontendServer *server.Server

	group int

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change

	// Of the master.
	numbering   bool  // it numbers workers and keeps the membership
	next        int32 // number
	taken       bool  // claimed numbers now belong to others
	membership  wire.Membership
	incarnation int64
	epoch       uint64
	sequence    uint64
	silent      bool   // it answers no snapshots
	forgot      bool   // it does not know the node, until the node sends a hello
	refuse      string // the problem hellos are answered with
	hellos      []*wire.Hello
	answering   chan struct{} // answers to hellos wait until it is closed; nil: they do not
	snapshots   []*wire.Snapshot
	linked      []wire.Item // by Thrift
	idles       []wire.Item // by NATS

	// Of the frontend.
	down     bool // Reports fails
	ack      bool
	unknown  []sched.JobID
	answer   *wire.ReportsReply // in place of the one by ack and unknown
	held     chan struct{}      // answers to Reports wait until it is closed; nil: they do not
	reports  []wire.Item        // by Thrift
	noticed  []wire.Item        // by NATS
	messages []string           // of backends
	file     string             // that it has, "" for none
	fileFrom time.Time          // when it has it
}

const (
	testCluster = "test"
	testGroup   = 3
)

// newWorld starts a master and a frontend; withNATS adds a server that both use.
func newWorld(t testing.TB, withNATS bool) *world { return newWorldOf(t, testGroup, withNATS) }

func newWorldOf(t testing.TB, group int, withNATS bool) *world {
	t.Helper()
	w := &world{
		t: t, names: addrmap.New(), master: addrmap.MasterRef(group), group: group,
		frontend: wire.Ref{Role: sched.Distributor, Name: "f1"}, node: wire.Ref{Role: sched.Worker, Name: "n1"},
		changed: make(chan struct{}), incarnation: 1000, epoch: 5, ack: true,
	}
	w.codec = wire.NewCodec(w.names, runloop.NewClock().Now)
	w.masterServer = servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Batches: w, Registrar: w, Membership: w}, w.codec), server.Options{Name: "master", Security: servertest.Anybody()})
	w.frontendServer = servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Reports: w, Files: w}, w.codec), server.Options{Name: "frontend", Security: servertest.Anybody()})
	if withNATS {
		w.startNATS()
	}
	return w
}

func (w *world) startNATS() {
	w.t.Helper()
	var err error
	if w.nats, err = notice.StartEmbedded("127.0.0.1:0"); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.nats.Close() })
	if w.conn, err = notice.Connect(notice.Options{Access: notice.Access{URL: w.nats.URL()}, Name: "test"}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.conn.Close() })
	// What is published before the subscription is made goes nowhere.
	await.Until(w.t, "NATS is connected", w.conn.Connected)
	for subject, list := range map[string]*[]wire.Item{
		notice.IdleSubject(testCluster, w.group, ""): &w.idles, notice.ReportSubject(testCluster, w.frontend.Name, ""): &w.noticed,
	} {
		if err := w.conn.Subscribe(subject, func(data []byte) {
			b, err := w.codec.Decode(data)
			if err != nil {
				w.t.Errorf("a notice cannot be read: %v", err)
				return
			}
			w.update(func() { *list = append(*list, b.Items...) })
			if list == &w.noticed {
				w.acknowledge(b)
			}
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// acknowledge acts as a frontend that has journaled the reports.
func (w *world) acknowledge(b *wire.Batch) {
	w.mu.Lock()
	ack := w.ack
	w.mu.Unlock()
	if !ack {
		return
	}
	data, err := w.codec.Append(nil, &wire.Batch{Sender: w.frontend, Receiver: w.node, Address: w.frontendServer.Addr().String(), Acknowledged: attempts(b.Items)})
	if err != nil {
		w.t.Error(err)
		return
	}
	_ = w.conn.Publish(notice.AckSubject(testCluster, b.Sender.Name), data) // the test may be closing NATS
}

func attempts(items []wire.Item) (ids []sched.AttemptID) {
	for i := range items {
		ids = append(ids, items[i].Msg.AttemptID())
	}
	return ids
}

func (w *world) update(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

// await waits until the condition holds; it is tested at every change.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	enough := time.After(await.Limit)
	for {
		ok, changed := w.ask(holds)
		if ok {
			return
		}
		select {
		case <-changed:
		case <-enough:
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Fatalf("not in time: %s\nlinked %v\nidles %v\nreports %v\nnoticed %v", what, kinds(w.linked), kinds(w.idles), kinds(w.reports), kinds(w.noticed))
		}
	}
}

// ask frees the lock also when the condition panics, or the end of the test would
// wait for it.
func (w *world) ask(holds func() bool) (bool, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return holds(), w.changed
}

// last returns the last item that came, none when nothing came.
func last(items []wire.Item) (it wire.Item) {
	if len(items) > 0 {
		it = items[len(items)-1]
	}
	return it
}

// slotReported returns a slot as the last snapshot reported it, none before the first.
func (w *world) slotReported(slot int) (s wire.Slot) {
	if n := len(w.snapshots); n > 0 && slot < len(w.snapshots[n-1].Slots) {
		s = w.snapshots[n-1].Slots[slot]
	}
	return s
}

func kinds(items []wire.Item) (out []string) {
	for i := range items {
		out = append(out, fmt.Sprintf("%v: %s", items[i].From, sched.Describe(&items[i].Msg)))
	}
	return out
}

// Hello, Snapshot and Deliver make world a master.
func (w *world) Hello(_ context.Context, h *wire.Hello) (r wire.HelloReply, _ error) {
	var answering chan struct{}
	w.update(func() {
		w.hellos, w.forgot = append(w.hellos, h), false
		r = wire.HelloReply{Sender: w.master, Incarnation: w.incarnation, Epoch: w.epoch, Group: w.group, Accepted: w.refuse == "", Problem: w.refuse}
		if w.numbering && r.Accepted {
			w.register(h, &r)
		}
		answering = w.answering
	})
	if answering != nil {
		<-answering
	}
	return r, nil
}

func (w *world) Snapshot(_ context.Context, s *wire.Snapshot) (r wire.SnapshotReply, err error) {
	w.update(func() {
		if w.silent {
			err = &api.Error{Problem: api.NotReady, What: "it does not answer"}
		}
		w.snapshots = append(w.snapshots, s)
		r = wire.SnapshotReply{Incarnation: w.incarnation, Epoch: w.epoch, Known: !w.forgot}
	})
	return r, err
}

func (w *world) Deliver(_ context.Context, b *wire.Batch) (r wire.BatchReply, _ error) {
	w.update(func() {
		w.linked = append(w.linked, b.Items...)
		r = wire.BatchReply{Incarnation: w.incarnation, Sequence: b.Sequence}
	})
	return r, nil
}

// Reports makes world a frontend.
func (w *world) Reports(_ context.Context, b *wire.Batch) (r wire.ReportsReply, err error) {
	var held chan struct{}
	w.update(func() {
		if w.down {
			err = &api.Error{Problem: api.NotReady, What: "it is down"}
			return
		}
		w.reports = append(w.reports, b.Items...)
		r.Unknown = w.unknown
		if w.ack {
			r.Acknowledged = attempts(b.Items)
		}
		r.Sender = w.frontend.Name
		if w.answer != nil {
			r = *w.answer
		}
		held = w.held
	})
	if held != nil {
		<-held
	}
	return r, err
}

// FilePiece implements wire.FileKeeper: the frontend has one file, from an instant on.
func (w *world) FilePiece(context.Context, string, int64, int) (p wire.Piece, err error) {
	w.update(func() {
		if p = (wire.Piece{Data: []byte(w.file), Size: int64(len(w.file))}); w.file == "" || time.Now().Before(w.fileFrom) {
			err = &api.Error{Problem: api.NotReady, What: "the file is not here yet"}
		}
	})
	return p, err
}
