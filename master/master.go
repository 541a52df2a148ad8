package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/roster"
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
	outlets     map[wire.Ref]*outlet // the owner's
	epoch       atomic.Uint64        // of the core, for links
	server      *server.Server
	web         *telemetry.Server // nil when off
	tracing     *telemetry.Tracing
	recording   func() error // closes it
	ready       chan struct{}
	claimed     atomic.Bool // Run or Close was called
}

// New gives a master that listens and does not serve yet. The error names the
// setting or the address that cannot work. Run, or Close, must follow.
func New(cfg Config, log *slog.Logger) (*Master, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("master: %w", err)
	}
	p, params, err := policy.ConfigureLive(cfg.Policy, sched.Params{Cutoff: sched.Time(cfg.Cutoff), Weight: cfg.Weight, Reserved: cfg.Reserved})
	if err != nil {
		return nil, err
	}
	m := &Master{
		cfg: cfg, log: log.With("role", "master", "group", cfg.Group), self: roster.MasterRef(cfg.Group),
		incarnation: rand.Int64N(1<<62) + 1, outlets: map[wire.Ref]*outlet{}, ready: make(chan struct{}),
	}
	if err := m.assemble(p, params); err != nil {
		return nil, errors.Join(err, m.release())
	}
	return m, nil
}

// assemble makes the parts in the order in which they need each other.
func (m *Master) assemble(p sched.Policy, params sched.Params) (err error) {
	clock := runloop.NewClock()
	names := roster.New()
	m.codec = wire.NewCodec(names, clock.Now)
	m.inbox = link.NewInbox(m.incarnation)
	addr := names.Addr(m.self)
	core, ok := p.NewMaster(sched.MasterConfig{Self: addr, Seed: m.cfg.Seed, Params: params, MaxTasks: m.cfg.MaxTasks, Recover: true}).(groupCore)
	if !ok {
		return fmt.Errorf("policy %s has no master that can run live", p.Name)
	}
	o := &owner{
		cfg: m.cfg, log: m.log, self: m.self, addr: addr, incarnation: m.incarnation, core: core, clock: clock, roster: names,
		open: m.open, cargo: newCargo(), nodes: map[string]*node{}, frontends: map[string]*frontend{}, nodeOf: map[int32]*node{},
		meter: newMeter(clock.Now),
	}
	m.owner = o
	record, err := m.record()
	if err != nil {
		return err
	}
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
	return m.listen()
}

func (m *Master) listen() (err error) {
	ports := wire.PeerPorts{Batches: m, Registrar: m, Group: m}
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
	if m.cfg.Record == "" {
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
	m.epoch.Store(m.owner.core.Epoch())
	m.owner.flush()
}

// urge posts what must not be refused; a stopping daemon has no more use for it.
func (m *Master) urge(do func()) { _ = m.loop.Urge(do) }

// Ready is closed when the master serves.
func (m *Master) Ready() <-chan struct{} { return m.ready }

// Addr is where frontends and node monitors reach it, host:port.
func (m *Master) Addr() string { return m.server.Addr().String() }

// HTTP is where its status is served, "" when off.
func (m *Master) HTTP() string {
	if m.web == nil {
		return ""
	}
	return m.web.Addr()
}
