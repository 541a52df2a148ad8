package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// inboxLimit bounds the batches of others in the owner's inbox. What this node has
// under way itself (an end for each slot, an answer for each frontend) is bounded
// where it began, and always finds room.
const inboxLimit = 10_000

// Deps are what a node monitor shares with others of its process. A nil one is
// made for this node monitor alone.
type Deps struct {
	Log     *slog.Logger       // nil discards
	Guard   *guard.Client      // of exec tasks; stays the caller's to close
	Tracing *telemetry.Tracing // stays the caller's to shut down
}

// NodeMonitor is the daemon of one machine. New opens its ports, Run serves.
type NodeMonitor struct {
	cfg         Config
	log         *slog.Logger
	incarnation int64
	self        wire.Ref
	owner       *owner // the loop's goroutine only
	loop        *runloop.Loop[event]

	peers         *peers
	registration  *registration.Registration
	follower      *membership.Follower // nil where workers do not speak to others
	link          *link.Link
	master        *client.Pool
	metrics       *metrics
	codec         *wire.Codec
	callers       *results.Calls
	frontendPools *connections.Pools
	messages      *messages
	notices       *notifier // nil without NATS
	equipment     *equipment
	applications  *applications
	calls         context.Context // of callers
	endCalls      context.CancelFunc

	internal  *server.Server
	published *server.Server
	status    *telemetry.Server // nil when off
	recording func() error      // ends it; nil when off

	mu    sync.Mutex
	ran   bool   // Run or Close was called
	stop  func() // ends Run; set by it
	ended error  // why it ended by itself
}

// New opens the ports and folders of a node monitor that does not serve yet. The
// error is about a setting, a port or a folder, and nothing stays open after it.
// Run, or Close, must follow.
func New(cfg Config, deps Deps) (*NodeMonitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	n := &NodeMonitor{
		cfg: cfg, log: deps.Log.With("node", cfg.ID), incarnation: 1 + rand.Int64N(math.MaxInt64), //nolint:gosec // a name, no secret
		self: wire.Ref{Role: sched.Worker, Name: cfg.ID},
	}
	n.calls, n.endCalls = context.WithCancel(context.Background())
	if err := n.build(deps); err != nil {
		return nil, errors.Join(err, n.release())
	}
	return n, nil
}

// build makes the parts, in the order in which they need each other.
func (n *NodeMonitor) build(deps Deps) (err error) {
	recorder, err := n.record()
	if err != nil {
		return err
	}
	if n.equipment, err = openEquipment(n.cfg, deps, n.log); err != nil {
		return err
	}
	n.metrics = newMetrics()
	o, err := n.newOwner(recorder)
	if err != nil {
		return err
	}
	n.owner = o
	n.loop = runloop.New(inboxLimit, o.handle)
	n.metrics.WatchTracing(n.equipment.tracing)
	n.metrics.WatchMessages(o.workers.Messages)
	n.peers = &peers{
		node: n.cfg.ID, incarnation: n.incarnation, master: o.masterRef, inbox: link.NewInbox(n.incarnation), logs: n.equipment.logs,
		post: func(e event) error { return n.loop.Post(e) }, superseded: n.metrics.superseded,
	}
	n.messages = newMessages(n.log, n.cfg.MaxMessages)
	n.metrics.watchMessages(n.messages.relay.Stats)
	if err := n.services(n.codec); err != nil {
		return err
	}
	if err := n.connect(n.codec); err != nil {
		return err
	}
	return n.keepExecutors(n.codec)
}

// newOwner makes what the owner goroutine has, but for its links to others.
func (n *NodeMonitor) newOwner(recorder *runloop.Recorder) (*owner, error) {
	policy, params, err := policy.Configure(n.cfg.Policy, n.cfg.params())
	if err != nil {
		return nil, err
	}
	names := addrmap.New()
	if policy.SingleMaster() {
		names = addrmap.NewNumbered()
	}
	o := &owner{
		log: n.log, self: n.self, incarnation: n.incarnation, policy: policy, heartbeat: sched.Time(n.cfg.Heartbeat),
		master: sched.Addr{Role: sched.Master, ID: int32(n.cfg.Group)}, masterRef: addrmap.MasterRef(n.cfg.Group), //nolint:gosec // validated
		clock: runloop.NewClock(), addrs: names, post: n.post,
	}
	n.codec = wire.NewCodec(names, o.clock.Now)
	n.frontendPools = connections.New("frontend")
	n.callers = results.NewCalls(n.calls, n.codec, n.cfg.patience(), n.frontendPools)
	o.results = results.New(results.Config{
		Node: n.self, Limit: n.cfg.MaxResults, MaxBytes: n.cfg.MaxResultBytes, Heartbeat: o.heartbeat, Names: names, Calls: n.callers,
		Envelope: o.envelope, Now: func() sched.Time { return o.workers.Now() }, Post: n.do, Log: n.log, Metrics: n.metrics.results,
		UnknownJob: func(frontend sched.Addr, job sched.JobID) { o.workers.KillJob(frontend, job) },
	})
	o.workers = slots.New(slots.Config{
		Node: n.self, Seed: n.cfg.Seed, Policy: policy, Params: params, Master: o.master, MasterRef: o.masterRef, Heartbeat: o.heartbeat,
		Clock: o.clock, Backends: n.equipment.backends, Results: o.results, Kept: o.results, Names: names, Envelope: o.envelope,
		Ended:   func(e slots.End) { o.post(event{kind: ended, end: e}) },
		Timer:   func(self sched.Addr, token uint64) { n.do(func() { o.workers.Timeout(self, token) }) },
		Changed: func() { o.changed() }, Recorder: recorder, Tracing: n.equipment.tracing, Log: n.log, Metrics: n.metrics.slots,
	})
	return o, nil
}

// services makes the slots and opens the ports. Callers are answered once Run
// runs.
func (n *NodeMonitor) services(codec *wire.Codec) (err error) {
	o := n.owner
	backends := n.equipment.register(backendEvents{n}, n.messages, o.policy.Name, o.policy.SingleMaster())
	n.metrics.watchBackends(n.equipment.registry.Stats)
	n.newApplications()
	n.internal, err = server.New(wire.PeerProcessor(wire.PeerPorts{Batches: n.peers, Logs: n.peers, Executors: n.applications}, codec), server.Options{
		Name: fmt.Sprintf("internal service of node %q", n.cfg.ID), Address: n.cfg.InternalListen, MaxFrame: 8 << 20, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.published, err = server.New(wire.WithGrants(wire.BackendProcessor(backends), n.applications), server.Options{
		Name: fmt.Sprintf("backend service of node %q", n.cfg.ID), Address: n.cfg.Listen, MaxFrame: 4 << 20, Log: n.log,
	})
	if err != nil {
		return err
	}
	for range n.cfg.Slots / o.policy.SlotsPerWorker() {
		o.workers.Add()
	}
	if err := errors.Join(n.internal.Listen(), n.published.Listen()); err != nil {
		return err
	}
	o.address, err = advertised(n.cfg, n.internal.Addr())
	return err
}

// advertised is where other daemons reach this node.
func advertised(cfg Config, listening net.Addr) (string, error) {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return "", fmt.Errorf("internal_listen: %w", err)
	}
	if cfg.Advertise != "" {
		return net.JoinHostPort(cfg.Advertise, port), nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return "", &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("internal_listen is %s, every address of this host", cfg.InternalListen), Subject: fmt.Sprintf("node %q", cfg.ID),
			Tried: "telling the master where this node is", Next: "set advertise to the host that other daemons reach it by",
		}
	}
	return net.JoinHostPort(host, port), nil
}

// Addrs are the addresses that a node monitor listens on, as host:port.
type Addrs struct {
	Listen   string // backends
	Internal string // daemons, as told to them
	HTTP     string // "" when off
}

// Addrs returns where the node monitor listens.
func (n *NodeMonitor) Addrs() Addrs {
	a := Addrs{Listen: n.published.Addr().String(), Internal: n.owner.address}
	if n.status != nil {
		a.HTTP = n.status.Addr()
	}
	return a
}

// Ready is closed once the node monitor serves and its master has accepted it.
func (n *NodeMonitor) Ready() <-chan struct{} { return n.registration.Ready() }

// Messages counts what its cores sent to others so far, as the papers do: a batch of
// k tasks counts k. It may be called from anywhere.
func (n *NodeMonitor) Messages() uint64 { return n.owner.workers.Messages() }

// post puts what this node itself has under way into the owner's inbox; when the owner
// is gone it is of no use any more.
func (n *NodeMonitor) post(e event) { _ = n.loop.Urge(e) }

// do runs a function on the owner goroutine, if there is one still.
func (n *NodeMonitor) do(f func()) { n.post(event{do: f}) }

// ask runs a function on the owner goroutine and waits for it; false when the
// owner is gone.
func (n *NodeMonitor) ask(f func()) bool {
	done := make(chan struct{})
	if err := n.loop.Urge(event{do: func() { f(); close(done) }}); err != nil {
		return false
	}
	<-done // what was posted is handled, also at the end
	return true
}
