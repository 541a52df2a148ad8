package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Master is the daemon. New makes it and opens its listeners, Run serves until
// its context ends.
type Master struct {
	life        *daemon.Lifecycle
	mailbox     daemon.Mailbox // of the owner goroutine
	cfg         Config
	log         *slog.Logger
	self        wire.Ref
	incarnation int64
	codec       *wire.Codec
	inbox       *link.Inbox
	waiting     *daemon.ByteLimit
	loop        *runloop.Loop[func()]
	owner       *owner
	epoch       atomic.Uint64 // the owner goroutine's, for the batches it sends
	forgetAfter time.Duration // how long peers must be gone
	standing    standing
	natsFaults  jetstore.KnownFaults // written by watchNATS, read by calls
	following   *following           // of a standby
	twin        *leaders.Group       // at the address that the setting masters has for the group; nil: this master, or none
	deps        Deps
	address     string // where other daemons reach it
	server      *server.Server
	web         *telemetry.Server // nil when off
	shares      owners.Reader[owners.Shares]
}

// New returns a master that listens and does not serve yet. The error names the
// setting or the address that cannot work. Run, or Close, must follow.
func New(cfg Config, log *slog.Logger) (*Master, error) { return NewWith(cfg, Deps{Log: log}) }

// NewWith is New with what the master shares with others of its process.
func NewWith(cfg Config, deps Deps) (*Master, error) { return after(nil, cfg, deps) }

// after returns the master that follows another one, nil for none, in the same process.
func after(former *Master, cfg Config, deps Deps) (*Master, error) {
	log := deps.Log
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("master: %w", err)
	}
	p, params, err := cfg.Configure(cfg.Weight)
	if err != nil {
		return nil, err
	}
	log = log.With("role", "master", "group", cfg.Group)
	m := &Master{
		forgetAfter: link.ForgetAfter, deps: deps,
		life: daemon.New("master", log), cfg: cfg, log: log, self: addrmap.MasterRef(cfg.Group), incarnation: rand.Int64N(1<<62) + 1, //nolint:gosec // a name, no secret
	}
	m.standing = standing{name: cfg.name(), incarnation: m.incarnation, shared: cfg.led()}
	m.mailbox = daemon.Mailbox{Name: cfg.name(), Post: func(do func()) error { return m.loop.Post(do) }}
	if err := m.assemble(p, params, former); err != nil {
		return nil, errors.Join(err, m.life.Close())
	}
	return m, nil
}

// assemble makes the parts in the order of their dependencies.
func (m *Master) assemble(p sched.Policy, params sched.Params, former *Master) error {
	clock := runloop.NewClock()
	names := addrmap.NewNumbered() // this master numbers the workers, under every policy
	m.codec = wire.NewCodec(names, clock.Now)
	m.inbox = link.NewInbox(m.self, m.incarnation)
	m.waiting = daemon.NewByteLimit("inbox_bytes", m.cfg.InboxBytes)
	m.loop = runloop.New(m.cfg.InboxLimit, m.handle)
	o := newOwner(m.cfg, p, names, clock, m.incarnation, m.log)
	m.owner = o
	if err := m.life.Secure(m.cfg.Settings, o.metrics.Metrics, m.self); err != nil {
		return err
	}
	o.metrics.WatchInbox(m.waiting.Refused)
	o.metrics.watchStanding(m.standing.leads)
	m.codec.OnUnknown(o.metrics.unknown.Report(m.log))
	if err := m.addCore(p, params); err != nil {
		return err
	}
	tracing, err := m.life.Tracing(telemetry.Options{Service: "pigeon-master", Instance: m.self.Name, Endpoint: m.cfg.OTLP, Ratio: 1}, o.metrics.Metrics)
	if err != nil {
		return err
	}
	if err := m.openShares(former); err != nil {
		return err
	}
	o.spans = &spans{tracing}
	o.leases = newLeaseRevoker(m.codec, wire.Batch{Sender: m.self, Incarnation: m.incarnation}, clock, m.log)
	o.publication = newPublication(m.cfg, m.incarnation, clock.Now, m.post)
	if err := m.listen(); err != nil {
		return err
	}
	if m.address = m.cfg.Advertised(m.Addr(), m.cfg.Masters...); m.cfg.led() {
		m.following = newFollowing(m, former, clock)
		o.core.idle = true
	}
	o.links = m.openLinks()
	m.life.OnClose(o.links.Close)
	o.addDaemons(p)
	return m.newSiblings(p)
}

// addCore makes the policy's master core, if it has one, with its recording and timers.
func (m *Master) addCore(p sched.Policy, params sched.Params) error {
	o := m.owner
	var record *runloop.Recorder
	if p.NewMaster != nil {
		o.core.core = p.NewMaster(sched.MasterConfig{Self: o.core.self, Seed: m.cfg.Seed, Params: params, MaxTasks: m.cfg.MaxTasks, Recover: true})
		var err error
		if record, err = m.life.Record(m.cfg.Record, m.recording()); err != nil {
			return err
		}
	}
	o.core.steps = runloop.NewStepper(o.act, record)
	o.core.timers = runloop.NewTimers(o.core.clock, func(_ sched.Addr, token uint64) {
		m.post(func() { o.core.StepShell(&sched.Message{Kind: sched.Timeout, Token: token}) })
	})
	o.metrics.WatchMessages(o.core.steps.Messages)
	o.metrics.WatchMisdirected(m.inbox.Misdirected)
	return nil
}

// recording returns the name of the recording of the core.
func (m *Master) recording() string {
	if m.cfg.led() { // several masters may record into one folder
		return fmt.Sprintf("master-%d-%x", m.cfg.Group, m.incarnation)
	}
	return fmt.Sprintf("master-%d", m.cfg.Group)
}

// openLinks makes the links to other daemons, once it is known where this master serves.
func (m *Master) openLinks() *link.Set {
	o := m.owner
	return link.NewSet(link.SetOptions{
		Self: m.self, Address: m.address, Incarnation: m.incarnation, Codec: m.codec, Log: m.log,
		Epoch: m.epoch.Load, Security: m.life.To, LostAfter: m.cfg.LostAfter, Permitted: m.standing.permitted(),
		OnState:   func(peer wire.Ref, s link.State) { m.post(func() { o.linkState(peer, s) }) },
		OnRefused: func(peer wire.Ref, n int, why error) { m.post(func() { o.peerRefused(peer, n, why) }) },
		OnUnknown: func(peer wire.Ref, items []wire.Item) { m.post(func() { o.withheld(peer, items) }) },
		OnAnother: func(peer wire.Ref, incarnation int64) { m.post(func() { o.peerRestarted(peer, incarnation) }) },
	})
}

func (m *Master) listen() (err error) {
	ports := wire.PeerPorts{Batches: m, Registrar: m, Group: m, Membership: m}
	m.server, err = m.life.Listen(wire.PeerProcessor(ports, m.codec), server.Options{Name: m.cfg.name(), Address: m.cfg.Listen, MaxFrame: wire.MaxBatchBytes, Security: server.Security{Allow: access.For(access.PeerService)}})
	if err != nil {
		return err
	}
	m.web, err = m.life.Status(m.cfg.HTTP, m.owner.metrics.Metrics, nil, func(s *telemetry.Server) {
		s.Handle("GET /status", telemetry.JSON(func(ctx context.Context) (any, error) { return m.MasterState(ctx) }))
	})
	return err
}

// Run serves until ctx is done and returns when everything it started has ended.
// The error is what ended it before. It may be called once.
func (m *Master) Run(ctx context.Context) error {
	tasks := append(m.owner.siblings.heartbeats(m), m.sweep, m.shares.Run)
	if m.cfg.led() {
		tasks = append(tasks, m.stand)
	}
	started := m.life.MarkReady
	if m.twin != nil {
		tasks, started = append(tasks, m.watchTwin), nil
	}
	return m.life.Run(ctx, daemon.Parts{
		Connect: m.connectNotices, Owner: m.loop.Run, Tasks: tasks,
		Started: started, Wake: m.owner.publication.close,
		Replaced: replaced,
	})
}

// connectNotices subscribes to the group's idle notices, and connects the owner goroutine's notices
// of waiting tasks.
func (m *Master) connectNotices() error {
	if m.owner.core.core == nil {
		return nil
	}
	conn, err := m.life.Notices(m.cfg.Servers(), fmt.Sprintf("master-%d", m.cfg.Group))
	if conn == nil || err != nil {
		return err
	}
	waiting := notice.WaitingSubject(m.cfg.Cluster, m.cfg.Group)
	m.owner.leases.publish = func(data []byte) error { return conn.Publish(waiting, data) }
	return conn.SubscribeNamed(func(node string) string { return notice.IdleSubject(m.cfg.Cluster, m.cfg.Group, node) }, m.notice)
}

// notice accepts one batch of idle notices. publisher is the node's name as a subject has it,
// "" where the subject has none.
func (m *Master) notice(publisher string, data []byte) {
	b, err := m.codec.Decode(data)
	if err == nil {
		err = errors.Join(b.CheckPeer(), notice.CheckPublisher(publisher, b.Sender.Name))
	}
	if err == nil && !m.standing.leads() {
		return
	}
	if err == nil {
		err = m.loop.Post(func() { m.owner.deliver(b) })
	}
	if err != nil {
		m.owner.metrics.unread.Inc() // the node's next snapshot repeats what the notice reported
	}
}

// sweep looks for lost nodes and silent frontends. It comes often enough for both settings: a longer
// pause between two batches of the owner goroutine would look as if this process had been stopped.
func (m *Master) sweep(ctx context.Context) {
	tick := time.NewTicker(min(m.cfg.LostAfter, m.cfg.MasterLost) / protocol.SweepsToLoss)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.post(func() { m.owner.sweep(m.inbox, m.forgetAfter) })
		case <-ctx.Done():
			return
		}
	}
}

// handle is one batch of the owner goroutine.
func (m *Master) handle(batch []func()) {
	m.owner.returnUnreached() // before the messages that came meanwhile
	for _, do := range batch {
		do()
	}
	m.epoch.Store(m.owner.epoch.Number)
	m.owner.flush(m.standing.leads())
}

// post runs a function on the owner goroutine, beyond the inbox's limit; a daemon that stops
// drops it.
func (m *Master) post(do func()) { _ = m.loop.PostUnbounded(do) }

// Close frees what New opened when Run was never called. It is safe twice, and
// does nothing after Run.
func (m *Master) Close() error { return m.life.Close() }

// Ready is closed when the master serves.
func (m *Master) Ready() <-chan struct{} { return m.life.Ready() }

// Addr returns where frontends and node monitors reach the master, host:port.
func (m *Master) Addr() string { return m.server.Addr().String() }

// Messages counts the messages that its core has sent to others, as the papers do: a batch
// of k tasks counts k. It may be called from anywhere.
func (m *Master) Messages() uint64 { return m.owner.core.steps.Messages() }

// Gatherer returns the metrics that it serves.
func (m *Master) Gatherer() prometheus.Gatherer { return m.owner.metrics.Registry }

// HTTP returns where the status page is served, "" when it is off.
func (m *Master) HTTP() string {
	if m.web == nil {
		return ""
	}
	return m.web.Addr()
}
