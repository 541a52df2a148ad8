package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/linkset"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

const retryAfter = 50 * time.Millisecond

// Master is the daemon. New makes it and opens its listeners, Run serves until
// its context ends.
type Master struct {
	cfg         Config
	log         *slog.Logger
	self        wire.Ref
	incarnation int64
	codec       *wire.Codec
	inbox       *link.Inbox
	loop        *runloop.Loop[func()]
	owner       *owner
	links       *linkset.Set  // the owner's
	epoch       atomic.Uint64 // the owner's, for the batches it sends
	server      *server.Server
	web         *telemetry.Server // nil when off
	tracing     *telemetry.Tracing
	recording   func() error // closes it
	ready       chan struct{}
	claimed     atomic.Bool // Run or Close was called
}

// New returns a master that listens and does not serve yet. The error names the
// setting or the address that cannot work. Run, or Close, must follow.
func New(cfg Config, log *slog.Logger) (*Master, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("master: %w", err)
	}
	p, params, err := cfg.chosen()
	if err != nil {
		return nil, err
	}
	m := &Master{
		cfg: cfg, log: log.With("role", "master", "group", cfg.Group), self: addrmap.MasterRef(cfg.Group),
		incarnation: rand.Int64N(1<<62) + 1, ready: make(chan struct{}),
	}
	if err := m.assemble(p, params); err != nil {
		return nil, errors.Join(err, m.release())
	}
	return m, nil
}

// assemble makes the parts in the order in which they need each other.
func (m *Master) assemble(p sched.Policy, params sched.Params) (err error) {
	clock, r := runloop.NewClock(), rulesOf(p)
	names := addrmap.New()
	if r.numbered {
		names = addrmap.NewNumbered()
	}
	m.codec = wire.NewCodec(names, clock.Now)
	m.inbox = link.NewInbox(m.incarnation)
	o := &owner{
		cfg: m.cfg, rules: r, log: m.log, self: m.self, addr: names.Addr(m.self), incarnation: m.incarnation, clock: clock, addrs: names,
		urge: m.urge, cargo: newCargo(), numbers: newNumbers(), nodes: map[string]*node{}, frontends: map[string]*frontend{}, nodeOf: map[int32]*node{},
		meter: newMeter(clock.Now), board: newBoard(m.cfg.Group, m.incarnation, m.cfg.LostAfter),
	}
	m.owner = o
	o.core, o.view = hosted(p, sched.MasterConfig{Self: o.addr, Seed: m.cfg.Seed, Params: params, MaxTasks: m.cfg.MaxTasks, Recover: true}, o)
	record, err := m.record()
	if err != nil {
		return err
	}
	o.crier = newCrier(m.codec, wire.Batch{Sender: m.self, Incarnation: m.incarnation}, m.log)
	o.steps = runloop.NewStepper(o.act, record)
	o.timers = runloop.NewTimers(clock, func(_ sched.Addr, token uint64) {
		m.urge(func() { o.stepShell(&sched.Message{Kind: sched.Timeout, Token: token}) })
	})
	m.loop = runloop.New(m.cfg.InboxLimit, m.handle)
	if m.tracing, err = telemetry.Setup(context.Background(), telemetry.Options{
		Service: "pigeon-master", Instance: m.self.Name, Endpoint: m.cfg.OTLP, Ratio: 1, Logger: m.log,
	}); err != nil {
		return err
	}
	o.spans = &spans{m.tracing}
	o.meter.metrics.WatchTracing(m.tracing)
	o.meter.metrics.WatchMessages(o.steps.Messages)
	if err := m.listen(); err != nil {
		return err
	}
	m.openWays()
	return m.meetNeighbours()
}

// openWays makes the set, once it is known where this master serves.
func (m *Master) openWays() {
	o := m.owner
	m.links = linkset.New(linkset.Options{
		Self: m.self, Address: m.Addr(), Incarnation: m.incarnation, Codec: m.codec, Log: m.log,
		Epoch: m.epoch.Load, LostAfter: m.cfg.LostAfter,
		OnState:   func(peer wire.Ref, s link.State) { m.urge(func() { o.linkState(peer, s) }) },
		OnRefused: func(peer wire.Ref, n int, why error) { m.urge(func() { o.refusedBy(peer, n, why) }) },
	})
	o.links = m.links
}

func (m *Master) listen() (err error) {
	ports := wire.PeerPorts{Batches: m, Registrar: m, Group: m, Membership: m}
	m.server, err = server.New(wire.PeerProcessor(ports, m.codec), server.Options{
		Name: fmt.Sprintf("master of group %d", m.cfg.Group), Address: m.cfg.Listen, MaxFrame: wire.MaxBatchBytes, Log: m.log,
	})
	if err == nil {
		err = m.server.Listen()
	}
	if err != nil || m.cfg.HTTP == "" {
		return err
	}
	m.web = telemetry.NewServer(telemetry.ServerOptions{Addr: m.cfg.HTTP, Gatherer: m.owner.meter.metrics.Registry, Ready: m.readiness, Logger: m.log})
	m.web.Handle("GET /status", telemetry.JSON(func(ctx context.Context) (any, error) { return m.MasterState(ctx) }))
	return m.web.Start()
}

// record opens the recording, when one is wanted.
func (m *Master) record() (*runloop.Recorder, error) {
	if m.cfg.Record == "" || m.owner.core == nil {
		return nil, nil
	}
	r, end, err := runloop.RecordTo(m.cfg.Record, fmt.Sprintf("master-%d", m.cfg.Group))
	m.recording = end
	return r, err
}

// handle is one batch of the owner goroutine.
func (m *Master) handle(batch []func()) {
	for _, do := range batch {
		do()
	}
	m.epoch.Store(m.owner.epoch)
	m.owner.flush()
}

// urge posts what must not be refused; a stopping daemon has no more use for it.
func (m *Master) urge(do func()) { _ = m.loop.Urge(do) }

// Ready is closed when the master serves.
func (m *Master) Ready() <-chan struct{} { return m.ready }

// Addr is where frontends and node monitors reach it, host:port.
func (m *Master) Addr() string { return m.server.Addr().String() }

// Messages counts what its core sent to others so far, as the papers do: a batch of k
// tasks counts k. It may be called from anywhere.
func (m *Master) Messages() uint64 { return m.owner.steps.Messages() }

// HTTP is where its status is served, "" when off.
func (m *Master) HTTP() string {
	if m.web == nil {
		return ""
	}
	return m.web.Addr()
}
