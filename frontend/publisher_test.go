package frontend_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// publisher stands in for a single master: it registers frontends, publishes the
// membership that the test sets, and keeps the messages that it receives.
type publisher struct {
	t       *testing.T
	address string
	server  *daemontest.Process

	mu         sync.Mutex
	inbox      *link.Inbox
	membership wire.Membership
	changed    chan struct{} // closed with the next change of the membership
	closing    chan struct{} // closed when the process ends
	got        []wire.Item
	deaf       bool  // hellos do not add their frontends to the membership
	silent     bool  // hellos are answered with an error
	highest    int32 // highest worker number that a frontend knows, plus one, by its last hello
}

var (
	_ wire.Registrar        = (*publisher)(nil)
	_ wire.MembershipSource = (*publisher)(nil)
	_ wire.BatchReceiver    = (*publisher)(nil)
)

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	k := &publisher{t: t, address: "127.0.0.1:0", changed: make(chan struct{})}
	k.begin()
	return k
}

// begin serves as a new process with an empty membership.
func (k *publisher) begin() {
	k.t.Helper()
	k.mu.Lock()
	k.membership = wire.Membership{Incarnation: rand.Int64N(1<<62) + 1, Version: 1}
	k.inbox = link.NewInbox(addrmap.MasterRef(0), k.membership.Incarnation)
	k.got, k.closing = nil, make(chan struct{})
	k.mu.Unlock()
	s, err := server.New(wire.PeerProcessor(wire.PeerPorts{Batches: k, Registrar: k, Membership: k}, daemontest.Codec()), server.Options{
		Name: "publisher", Address: k.address, MaxFrame: wire.MaxBatchBytes, Log: daemontest.Log(k.t), Security: servertest.Anybody(),
	})
	if err == nil {
		err = s.Listen()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.address = s.Addr().String()
	k.server = daemontest.Run(k.t, s)
}

// restart replaces the process by another at the same address.
func (k *publisher) restart() {
	k.t.Helper()
	k.stop()
	k.begin()
}

// stop ends the process and answers waiting calls.
func (k *publisher) stop() {
	k.t.Helper()
	close(k.closing)
	k.server.Stop()
}

func (k *publisher) incarnation() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.membership.Incarnation
}

// change lets the test write the membership.
func (k *publisher) change(write func(*wire.Membership)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changeLocked(write)
}

func (k *publisher) changeLocked(write func(*wire.Membership)) {
	k.membership.Nodes, k.membership.Frontends = slices.Clone(k.membership.Nodes), slices.Clone(k.membership.Frontends)
	write(&k.membership)
	k.membership.Version++
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *publisher) Hello(_ context.Context, h *wire.Hello) (wire.HelloReply, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.silent {
		return wire.HelloReply{}, errors.New("silent")
	}
	k.highest = h.Highest
	member := wire.MemberFrontend{Name: h.Sender.Name, Address: h.Address, Incarnation: h.Incarnation}
	if !k.deaf && !slices.Contains(k.membership.Frontends, member) {
		k.changeLocked(func(r *wire.Membership) {
			r.Frontends = append(slices.DeleteFunc(r.Frontends, func(f wire.MemberFrontend) bool { return f.Name == member.Name }), member)
		})
	}
	return wire.HelloReply{Sender: addrmap.MasterRef(0), Incarnation: k.membership.Incarnation, Epoch: 1, Accepted: true, Serves: []string{""}}, nil
}

// setSilent sets whether hellos are answered with an error.
func (k *publisher) setSilent(silent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.silent = silent
}

func (k *publisher) Snapshot(context.Context, *wire.Snapshot) (wire.SnapshotReply, error) {
	return wire.SnapshotReply{}, nil
}

func (k *publisher) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	for timer := time.After(wait); ; {
		k.mu.Lock()
		membership, changed, closing := k.membership, k.changed, k.closing
		k.mu.Unlock()
		if membership.Incarnation != incarnation || membership.Version != version {
			return membership, nil
		}
		select {
		case <-changed:
		case <-timer:
			return membership, nil
		case <-ctx.Done():
			return membership, nil
		case <-closing:
			return membership, nil
		case <-k.t.Context().Done(): // the test is over
			return membership, nil
		}
	}
}

func (k *publisher) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	k.mu.Lock()
	inbox := k.inbox
	k.mu.Unlock()
	return inbox.Accept(b, func(b *wire.Batch) (string, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.got = append(k.got, b.Items...)
		return "", nil
	})
}

// awaitGot waits until n messages of the kind were received and returns them.
func (k *publisher) awaitGot(kind sched.Kind, n int) (list []wire.Item) {
	k.t.Helper()
	daemontest.Await(k.t, "messages "+kind.String()+" for the master", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		list = slices.DeleteFunc(slices.Clone(k.got), func(it wire.Item) bool { return it.Msg.Kind != kind })
		return len(list) >= n
	})
	return list
}

// send delivers a message of the master to a frontend.
func (k *publisher) send(f *frontOf, sequence uint64, m sched.Message) {
	k.t.Helper()
	self, to := addrmap.MasterRef(0), wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}
	b := &wire.Batch{Sender: self, Receiver: to, Incarnation: k.incarnation(), Sequence: sequence, Epoch: 1, Items: []wire.Item{{From: self, To: to, Msg: m}}}
	if _, err := daemontest.Dial(k.t, f.InternalAddr(), daemontest.Codec()).Deliver(k.t.Context(), b); err != nil {
		k.t.Fatal(err)
	}
}

// enters adds a node to the membership, with workers of these numbers.
func (k *publisher) enters(n *daemontest.Peer, numbers ...int32) {
	for i := range numbers {
		numbers[i]++
	}
	k.change(func(r *wire.Membership) {
		r.Nodes = append(slices.DeleteFunc(r.Nodes, func(old wire.MemberNode) bool { return old.Name == n.Ref.Name }),
			wire.MemberNode{Name: n.Ref.Name, Address: n.Address(), Incarnation: n.Incarnation, Numbers: numbers})
	})
}

// leaves removes a node from the membership.
func (k *publisher) leaves(n *daemontest.Peer) {
	k.change(func(r *wire.Membership) {
		r.Nodes = slices.DeleteFunc(r.Nodes, func(old wire.MemberNode) bool { return old.Name == n.Ref.Name })
	})
}

// frontend returns a frontend under a policy with one master. Its inputs are recorded and
// verified at the end of the test.
func (k *publisher) frontend(spec string, change ...func(*frontend.Config)) *frontOf {
	k.t.Helper()
	w := &world{t: k.t, masters: []string{k.address}}
	folder := k.t.TempDir()
	var f *frontOf
	k.t.Cleanup(func() { verify(k.t, f.cfg) }) // after the frontend's own
	f = w.frontend(append([]func(*frontend.Config){func(c *frontend.Config) { c.Policy, c.Record = spec, folder }}, change...)...)
	return f
}

// verify steps the last recording of a stopped frontend into a fresh core.
func verify(t *testing.T, cfg frontend.Config) {
	p, params, err := policy.Configure(cfg.Policy, sched.Params{Cutoff: sched.Time(cfg.Cutoff), Reserved: cfg.Reserved})
	if err != nil {
		t.Error(err)
		return
	}
	file, err := os.Open(filepath.Join(cfg.Record, cfg.ID+".jsonl"))
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	steps, err := runloop.VerifyLife(file, func(self sched.Addr, first int32) sched.Core {
		return p.NewDistributor(sched.DistributorConfig{Self: self, Seed: cfg.Seed, Params: params, FirstAttempt: first})
	})
	if err != nil || steps == 0 {
		t.Errorf("the recording of %d inputs under %s: %v", steps, cfg.Policy, err)
	}
}

// deliver delivers messages of a node's slots to a frontend, as one batch, and reports
// whether it was accepted.
func deliver(n *daemontest.Peer, f *frontOf, sequence uint64, items ...wire.Item) bool {
	to := wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}
	for i := range items {
		items[i].From = wire.Ref{Role: n.Ref.Role, Name: n.Ref.Name, Slot: items[i].From.Slot}
		items[i].To = to
	}
	_, err := n.Master().Deliver(context.Background(), &wire.Batch{
		Sender: n.Ref, Receiver: to, Address: n.Address(), Incarnation: n.Incarnation, Sequence: sequence, Items: items,
	})
	return err == nil
}

// nodeOfFrontend returns a node that calls a frontend.
func nodeOfFrontend(t *testing.T, f *frontOf, name string) *daemontest.Peer {
	t.Helper()
	return daemontest.Node(t, name, f.InternalAddr())
}

// taskRequest is a slot's request for a task of a job.
func taskRequest(f *frontOf, job string, slot int32, seq uint64) wire.Item {
	return wire.Item{From: wire.Ref{Slot: slot}, Msg: sched.Message{Kind: sched.GetTask, Job: f.JobID(job), Seq: seq}}
}

// sendReport reports a result over Thrift.
func sendReport(t *testing.T, n *daemontest.Peer, f *frontOf, job string, task, attempt int32, o sched.Outcome) {
	t.Helper()
	m := sched.Message{Kind: sched.Report, Job: f.JobID(job), First: task, Attempt: attempt, Outcome: o}
	reportTo(t, n, f, m, wire.Extra{Secret: f.Secret(m.AttemptID())})
}

func reportTo(t *testing.T, n *daemontest.Peer, f *frontOf, m sched.Message, x wire.Extra) {
	t.Helper()
	to := wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}
	b := &wire.Batch{Sender: n.Ref, Receiver: to, Address: n.Address(), Incarnation: n.Incarnation, Sequence: 1, Items: []wire.Item{{
		From: n.Ref, To: to, Msg: m, Extra: x,
	}}}
	if _, err := n.Master().Reports(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// state returns a job's status.
func (f *frontOf) state(t *testing.T, job string) api.Status {
	t.Helper()
	s, err := f.Status(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
