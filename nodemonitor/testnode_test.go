package nodemonitor

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// testNode is a node monitor that runs until the test ends.
type testNode struct {
	*NodeMonitor
	w    *world
	ref  wire.Ref
	peer *wire.PeerClient
	stop func() error
}

// config returns the settings of a node of the world; change adapts them.
func (w *world) config(change func(*Config)) Config {
	c := Default()
	c.Policy = "pigeon"
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
		n.w.t.Fatalf("the node did not accept a batch: %v %q", err, r.Problem)
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
		Distributor: w.names.Addr(w.frontend),
	}}
	it.JobName, it.FrontendAddress = "job-"+id.Job.String(), w.frontendServer.Addr().String()
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
	if !n.call(func() { f(n.owner) }) {
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
