package nodemonitor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// world is a master and a frontend that say what a test has them say, over real
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
	taken       bool  // claimed numbers are others' by now
	membership  wire.Membership
	incarnation int64
	epoch       uint64
	sequence    uint64
	refuse      string // the problem hellos are answered with
	hellos      []*wire.Hello
	snapshots   []*wire.Snapshot
	linked      []wire.Item // by Thrift
	idles       []wire.Item // by NATS

	// Of the frontend.
	down     bool // Reports fails
	ack      bool
	unknown  []sched.JobID
	reports  []wire.Item // by Thrift
	noticed  []wire.Item // by NATS
	messages []string    // of backends
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
	w.masterServer = servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Batches: w, Registrar: w, Membership: w}, w.codec), server.Options{Name: "master"})
	w.frontendServer = servertest.Start(t, wire.PeerProcessor(wire.PeerPorts{Reports: w}, w.codec), server.Options{Name: "frontend"})
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
	if w.conn, err = notice.Connect(notice.Options{URL: w.nats.URL(), Name: "test"}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.conn.Close() })
	// What is published before the subscription is made goes nowhere.
	await.Until(w.t, "NATS is connected", w.conn.Connected)
	for subject, list := range map[string]*[]wire.Item{
		notice.IdleSubject(testCluster, w.group): &w.idles, notice.ReportSubject(testCluster, w.frontend.Name): &w.noticed,
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

// acknowledge does as a frontend that has journaled the reports.
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

// await waits until the condition holds; it is asked at every change.
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

// last returns the item that came last, none when nothing came.
func last(items []wire.Item) (it wire.Item) {
	if len(items) > 0 {
		it = items[len(items)-1]
	}
	return it
}

// slotTold returns a slot as the last snapshot told it, none before one came.
func (w *world) slotTold(slot int) (s wire.Slot) {
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
	w.update(func() {
		w.hellos = append(w.hellos, h)
		r = wire.HelloReply{Sender: w.master, Incarnation: w.incarnation, Epoch: w.epoch, Group: w.group, Accepted: w.refuse == "", Problem: w.refuse}
		if w.numbering && r.Accepted {
			w.register(h, &r)
		}
	})
	return r, nil
}

func (w *world) Snapshot(_ context.Context, s *wire.Snapshot) (r wire.SnapshotReply, _ error) {
	w.update(func() {
		w.snapshots = append(w.snapshots, s)
		r = wire.SnapshotReply{Incarnation: w.incarnation, Epoch: w.epoch, Known: true}
	})
	return r, nil
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
	})
	return r, err
}

// testNode is a node monitor that runs until the test ends.
type testNode struct {
	*NodeMonitor
	w    *world
	ref  wire.Ref
	peer *wire.PeerClient
	stop func() error
}

// config is a node of the world; change adapts it.
func (w *world) config(change func(*Config)) Config {
	c := Default()
	c.ID, c.Group, c.Slots, c.Cluster, c.Heartbeat = w.node.Name, w.group, 2, testCluster, 50*time.Millisecond
	c.Listen, c.Master, c.WorkDir, c.Grace = "127.0.0.1:0", w.masterServer.Addr().String(), w.t.TempDir(), 0
	if w.nats != nil {
		c.NATS = w.nats.URL()
	}
	if change != nil {
		change(&c)
	}
	return c
}

// start runs a node and waits until it is registered.
func (w *world) start(change func(*Config)) *testNode {
	w.t.Helper()
	n := w.run(w.config(change))
	receive(w.t, n.Ready())
	if w.nats != nil {
		n.until("the node has reached NATS", func(*owner) bool { return n.notices.conn.Connected() })
	}
	return n
}

func (w *world) run(c Config) *testNode {
	w.t.Helper()
	m, err := New(c, Deps{})
	if err != nil {
		w.t.Fatal(err)
	}
	pool, err := client.New(client.Options{Name: "node", Address: m.Addrs().Internal})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	var once sync.Once
	var result error
	n := &testNode{NodeMonitor: m, w: w, ref: wire.Ref{Role: sched.Worker, Name: c.ID}, peer: wire.NewPeerClient(pool, w.codec)}
	n.stop = func() error {
		once.Do(func() { cancel(); result = <-ended; pool.Close() })
		return result
	}
	w.t.Cleanup(func() {
		if err := n.stop(); err != nil {
			w.t.Errorf("the node did not stop cleanly: %v", err)
		}
	})
	return n
}

// deliver sends messages to the node as its master does.
func (n *testNode) deliver(items ...wire.Item) {
	n.w.t.Helper()
	n.w.mu.Lock()
	n.w.sequence++
	b := &wire.Batch{
		Sender: n.w.master, Receiver: n.ref, Incarnation: n.w.incarnation, Epoch: n.w.epoch, Sequence: n.w.sequence, Items: items,
	}
	n.w.mu.Unlock()
	r, err := n.peer.Deliver(context.Background(), b)
	if err != nil || r.Problem != "" {
		n.w.t.Fatalf("the node did not take a batch: %v %q", err, r.Problem)
	}
}

// launch makes the launch of a task: job and task name the attempt.
func (w *world) launch(slot int32, seq uint64, id sched.AttemptID, p api.Payload) wire.Item {
	to := w.node
	to.Slot = slot
	w.mu.Lock()
	defer w.mu.Unlock()
	it := wire.Item{From: w.master, To: to, Msg: sched.Message{
		Kind: sched.Launch, Job: id.Job, First: id.Task, Attempt: id.Attempt, Seq: seq, Epoch: w.epoch,
		Owner: w.names.Addr(w.frontend),
	}}
	it.JobName, it.OwnerAddress = "job-"+id.Job.String(), w.frontendServer.Addr().String()
	it.Payloads = []api.Payload{p}
	return it
}

func attemptOf(job uint64, task int32) sched.AttemptID {
	return sched.AttemptID{Job: sched.JobID{Hi: 1, Lo: job}, Task: task, Attempt: 1}
}

func sleepFor(d time.Duration) api.Payload {
	return api.Payload{Backend: api.BackendSleep, Sleep: d}
}

func shell(script string) api.Payload {
	return api.Payload{Backend: api.BackendExec, Exec: &api.Exec{Argv: []string{"sh", "-c", script}}}
}

// find returns the first item about the attempt of that kind.
func find(items []wire.Item, kind sched.Kind, id sched.AttemptID) *wire.Item {
	i := slices.IndexFunc(items, func(it wire.Item) bool { return it.Msg.Kind == kind && it.Msg.AttemptID() == id })
	if i < 0 {
		return nil
	}
	return &items[i]
}

// look runs a function on the owner goroutine, to read what belongs to it.
func (n *testNode) look(f func(o *owner)) {
	n.w.t.Helper()
	if !n.ask(func() { f(n.owner) }) {
		n.w.t.Fatal("the node has stopped")
	}
}

// keptBy returns how many results the owner keeps.
func keptBy(o *owner) int {
	n, _ := o.results.Kept()
	return n
}

// started returns how many attempts have started and not ended.
func started(o *owner) (n int) {
	for _, s := range o.workers.Status() {
		if s.Attempt > 0 {
			n++
		}
		for _, h := range s.Held {
			if h.State != "waiting" {
				n++
			}
		}
	}
	return n
}

func epochOf(o *owner) uint64 {
	epoch, _ := o.workers.Epoch()
	return epoch
}

// until polls for what the owner shows.
func (n *testNode) until(what string, holds func(o *owner) bool) {
	n.w.t.Helper()
	await.Until(n.w.t, what, func() (ok bool) {
		n.look(func(o *owner) { ok = holds(o) })
		return ok
	})
}

// get fetches a page of the node's status server.
func (n *testNode) get(path string) (status int, body string) {
	n.w.t.Helper()
	r, err := http.Get("http://" + n.Addrs().HTTP + path)
	if err != nil {
		n.w.t.Fatal(err)
	}
	defer r.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

// receive returns the next value of a channel.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(await.Limit):
		t.Fatal("nothing received in time")
	}
	return v
}
