package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/accounts"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backends"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/nodemonitor/registration"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// inboxLimit bounds the batches of others in the inbox of the owner goroutine. Events of this node itself
// (an end for each slot, an answer for each frontend) are bounded where they begin, and
// always have room.
const inboxLimit = 10_000

// inboxBytes bounds their bytes.
const inboxBytes = 256 << 20

// Deps are what a node monitor shares with others of its process. A nil one is
// made for this node monitor alone.
type Deps struct {
	Log     *slog.Logger       // nil discards
	Guard   *guard.Client      // of exec tasks; stays the caller's to close
	Tracing *telemetry.Tracing // stays the caller's to shut down
}

// NodeMonitor is the daemon of one machine. New opens its ports, Run serves.
type NodeMonitor struct {
	life  *daemon.Lifecycle
	cfg   Config
	log   *slog.Logger
	self  identity
	loop  *runloop.Loop[event]
	owner *owner // the loop's goroutine only

	backends     *backends.Set
	deliveries   *deliveries
	registration *registration.Registration
	follower     *membership.Follower // nil where workers send to their master alone
	masters      *leaders.Group       // the master of the group, with its standbys
	link         *link.Link           // to the master
	calls        *connections.Calls
	endReports   context.CancelFunc
	draining     atomic.Bool
	faulty       atomic.Bool // the disk of the work folder
	notices      *notices    // nil without NATS

	metrics   *metrics
	codec     *wire.Codec
	frontends *connections.Pools
	internal  *server.Server
	published *server.Server
	bound     []string          // where published backends are served for an owner, host:port
	status    *telemetry.Server // nil when off

	restart restart
}

// identity is how other daemons address this node. The address is set before the node
// monitor runs.
type identity struct {
	wire.Sender

	master wire.Ref
}

// New opens the ports and folders of a node monitor that does not serve yet. The
// error is about a setting, a port or a folder, and nothing stays open after it.
// Run, or Close, must follow.
func New(cfg Config, deps Deps) (*NodeMonitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.Named()
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	log := deps.Log.With("node", cfg.ID)
	n := &NodeMonitor{
		life: daemon.New("node monitor", log), cfg: cfg, log: log, metrics: newMetrics(),
		self: identity{
			Sender: wire.Sender{
				Ref:         wire.Ref{Role: sched.Worker, Name: cfg.ID},
				Incarnation: 1 + rand.Int64N(math.MaxInt64), //nolint:gosec // a name, no secret
			},
			master: addrmap.MasterRef(cfg.Group),
		},
	}
	if err := n.assemble(deps); err != nil {
		return nil, errors.Join(err, n.life.Close())
	}
	return n, nil
}

// assemble makes the parts in the order of their dependencies.
func (n *NodeMonitor) assemble(deps Deps) error {
	if err := n.newOwner(deps); err != nil {
		return err
	}
	if err := n.listen(); err != nil {
		return err
	}
	if err := n.connectMaster(); err != nil {
		return err
	}
	if n.owner.policy.SingleMaster() {
		n.connectPeers()
	}
	if err := n.openStatus(); err != nil {
		return err
	}
	if err := n.connectNotices(); err != nil {
		return err
	}
	if err := n.openExecutors(); err != nil {
		return err
	}
	n.takeOver()
	n.backends.Disk().Look() // before the first hello, which says whether the node takes tasks
	return n.resumeDrain()
}

// openBackends opens the backends of tasks.
func (n *NodeMonitor) openBackends(deps Deps, p sched.Policy) (err error) {
	c := &n.cfg
	as, err := accounts.New(c.accounts())
	if err != nil {
		return err
	}
	n.backends, err = backends.Open(backends.Config{
		Node: c.ID, Slots: c.Slots, Folder: c.workDir(os.TempDir()), Guard: deps.Guard, Accounts: as, RestartGrace: n.restart.grace, Owner: fmt.Sprintf("node %q of group %d of cluster %q", c.ID, c.Group, c.Cluster), MaxProcesses: c.MaxProcesses, Grace: c.Grace,
		OutputLimit: c.OutputLimit, LogRetention: c.LogRetention, LogLimit: c.LogLimit, MaxBackends: c.MaxBackends, MaxMessages: c.MaxMessages,
		MaxTaskProcesses: c.MaxTaskProcesses, LongWeight: c.longWeight(), ExecutorLimits: c.ExecutorLimits, Cgroup: c.Cgroup,
		GrantLease: c.GrantLease, Policy: p.Name, NoProcesses: p.SingleMaster(), Events: backendEvents{n}, ToFrontends: n.toFrontends(), Fetch: n.fileKeeper, StageCache: c.StageCache, MinFreeDisk: c.MinFreeDisk, OnClose: n.life.OnClose, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.metrics.watchBackends(n.backends.BackendStats)
	n.metrics.watchGrants(n.backends.Applications().Grants().Stats)
	n.metrics.watchMessages(n.backends.MessageStats)
	n.metrics.watchLogs(n.backends.Logs().Stats)
	n.metrics.watchDrain(n.draining.Load)
	n.metrics.watchDisk(n.faulty.Load)
	n.metrics.watchGuard(n.backends.GuardHealth, n.backends.Strays)
	e := n.backends.Enforces()
	n.metrics.watchLimits(func() string { return e.By() })
	n.log.Info("how the limits of tasks are enforced", "by", e.String())
	return nil
}

// fileKeeper returns the frontend at an address, for its files. It is called once this node monitor
// is assembled.
func (n *NodeMonitor) fileKeeper(address string) (wire.FileKeeper, error) {
	pool, err := n.frontends.At(address)
	if err != nil {
		return nil, err
	}
	return wire.NewPeerClient(pool, n.codec), nil
}

// openTracing returns the tracing of the process, else one of this daemon's own.
func (n *NodeMonitor) openTracing(deps Deps) (*telemetry.Tracing, error) {
	if deps.Tracing != nil {
		n.metrics.WatchTracing(deps.Tracing)
		return deps.Tracing, nil
	}
	return n.life.Tracing(telemetry.Options{Service: "pigeon-nodemonitor", Instance: n.cfg.ID, Endpoint: n.cfg.OTLP, Ratio: 1}, n.metrics.Metrics)
}

// listen opens the ports. Callers are answered once Run runs.
func (n *NodeMonitor) listen() (err error) {
	apps := n.backends.Applications()
	n.internal, err = n.life.Listen(wire.PeerProcessor(wire.PeerPorts{
		Batches: n.deliveries, Logs: attemptLogs{n.backends.Logs()}, Input: attemptInputs{n.backends}, Executors: apps, Drain: drains{n, make(chan struct{}, 1)}, Registrar: leaders.Announcements{Self: n.self.Ref, Leads: n.leads},
	}, n.codec), server.Options{
		Name: fmt.Sprintf("internal service of node %q", n.cfg.ID), Address: n.cfg.InternalListen, MaxFrame: wire.MaxBatchBytes,
		Security: server.Security{Allow: access.For(access.PeerService)},
	})
	if err != nil {
		return err
	}
	clients, o := wire.WithGrants(wire.BackendProcessor(n.backends.Service()), apps), server.Options{
		Name: fmt.Sprintf("backend service of node %q", n.cfg.ID), Address: n.cfg.Listen, MaxFrame: server.ClientMaxFrame, LeavesDescriptors: true,
		Security: server.Security{Allow: access.For(access.MasterService, access.NodeMonitorService, access.ExecutorService)},
	}
	if n.published, err = n.life.Listen(clients, o); err != nil {
		return err
	}
	if n.bound, err = n.life.ListenPublished(n.cfg.PublishedListen, clients, o, access.MasterService, access.NodeMonitorService); err != nil {
		return err
	}
	n.self.Address = n.cfg.Advertised(n.internal.Addr().String(), n.cfg.Master)
	return nil
}

// openExecutors opens the part that runs executors, which needs the node's addresses.
func (n *NodeMonitor) openExecutors() error {
	runtimes, err := backends.ParseRuntimes(n.cfg.Runtimes)
	if err != nil {
		return err
	}
	c := backends.ExecutorsConfig{
		Incarnation: n.self.Incarnation, Host: n.cfg.host(n.self.Address), Address: reachable(n.published.Addr().String(), n.self.Address),
		Memory: n.cfg.memory(), Runtimes: runtimes, LocalDirs: n.cfg.LocalDirs, Lease: n.cfg.ApplicationLease,
	}
	if n.status != nil {
		scheme, _, _ := strings.Cut(n.status.URL(), "://")
		c.Web = scheme + "://" + reachable(n.status.Addr(), n.self.Address)
	}
	if err := n.backends.OpenExecutors(c); err != nil {
		return err
	}
	daemon.WatchFiles(n.metrics.Metrics, daemon.ApplicationFiles, n.backends.Applications().Files().Stats)
	daemon.WatchFiles(n.metrics.Metrics, daemon.StagedFiles, n.backends.StagedFiles)
	if n.status != nil {
		n.status.Handle("GET /applications/", n.backends.Applications().Logs())
	}
	return nil
}

// openStatus opens the status page, when one is wanted.
func (n *NodeMonitor) openStatus() (err error) {
	n.status, err = n.life.Status(n.cfg.HTTP, n.metrics.Metrics, n.readiness, func(s *telemetry.Server) {
		s.Handle("GET /status", telemetry.JSON(n.state))
	})
	return err
}

// reachable returns where others reach one of this node's ports: under the host of the
// node's address, when that port listens on every address of this host.
func reachable(listening, address string) string {
	host, port, err := net.SplitHostPort(listening)
	if err != nil || !daemon.IsEveryAddress(host) {
		return listening
	}
	if host, _, err = net.SplitHostPort(address); err != nil {
		return listening
	}
	return net.JoinHostPort(host, port)
}

// Gatherer returns the metrics that it serves.
func (n *NodeMonitor) Gatherer() prometheus.Gatherer { return n.metrics.Registry }

// Addrs are the addresses that a node monitor listens on, as host:port.
type Addrs struct {
	Listen   string // backends
	Internal string // daemons, as announced to them
	HTTP     string // "" when off
}

// Addrs returns where the node monitor listens.
func (n *NodeMonitor) Addrs() Addrs {
	a := Addrs{Listen: n.published.Addr().String(), Internal: n.self.Address}
	if n.status != nil {
		a.HTTP = n.status.Addr()
	}
	return a
}

// PublishedAddrs returns the addresses of published_listen, in their order.
func (n *NodeMonitor) PublishedAddrs() []string { return n.bound }

// Ready is closed once the node monitor serves and its master has accepted it.
func (n *NodeMonitor) Ready() <-chan struct{} { return n.registration.Ready() }

// Messages counts the messages that its cores have sent to others, as the papers do: a
// batch of k tasks counts k. It may be called from anywhere.
func (n *NodeMonitor) Messages() uint64 { return n.owner.workers.Messages() }
