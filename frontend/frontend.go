package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/policy"
	"github.com/pigeon-sched/pigeon/internal/roster"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var _ wire.Scheduler = (*Frontend)(nil)

// Frontend is the daemon. New makes it, reads its journal and opens its
// listeners; Run serves until its context ends.
type Frontend struct {
	cfg         Config
	log         *slog.Logger
	self        wire.Ref
	incarnation int64
	codec       *wire.Codec
	inbox       *link.Inbox
	loop        *runloop.Loop[func()]
	owner       *owner
	journal     *journal.Journal
	masters     []*master // peer and address of each may be read anywhere
	pools       []*client.Pool
	epochs      []atomic.Uint64 // by group: the highest that a master answered with
	relay       *relay
	scheduler   *server.Server
	internal    *server.Server
	web         *telemetry.Server // nil when off
	tracing     *telemetry.Tracing
	recording   func() error
	ready       chan struct{}
	settled     sync.Once // guards closing ready
	failed      chan error
}

// New gives a frontend that listens and does not serve yet. The error names the
// setting, the address or the journal that cannot work.
func New(cfg Config, log *slog.Logger) (*Frontend, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("frontend: %w", err)
	}
	p, params, err := policy.Configure(cfg.Policy, sched.Params{Cutoff: sched.Time(cfg.Cutoff)})
	if err != nil {
		return nil, err
	}
	f := &Frontend{
		cfg: cfg, log: log.With("role", "frontend", "frontend", cfg.ID), self: wire.Ref{Role: sched.Distributor, Name: cfg.ID},
		epochs: make([]atomic.Uint64, len(cfg.Masters)), ready: make(chan struct{}), failed: make(chan error, 1),
	}
	if err := f.assemble(p, params); err != nil {
		return nil, errors.Join(err, f.release())
	}
	return f, nil
}

// assemble makes the parts in the order in which they need each other.
func (f *Frontend) assemble(p sched.Policy, params sched.Params) (err error) {
	clock := runloop.NewClock()
	names := roster.New()
	f.codec = wire.NewCodec(names, clock.Now)
	f.relay = newRelay(f.log)
	addr := names.Addr(f.self)
	core, ok := p.NewDistributor(sched.DistributorConfig{Self: addr, Seed: f.cfg.Seed, Params: params}).(distributorCore)
	if !ok {
		return fmt.Errorf("policy %s has no distributor that can run live", p.Name)
	}
	if f.tracing, err = telemetry.Setup(context.Background(), telemetry.Options{
		Service: "pigeon-frontend", Instance: f.cfg.ID, Endpoint: f.cfg.OTLP, Ratio: f.cfg.TraceRatio, Logger: f.log,
	}); err != nil {
		return err
	}
	o := &owner{
		cfg: f.cfg, log: f.log, self: f.self, addr: addr, core: core, clock: clock, roster: names,
		urge: f.loopUrge, fail: f.fail, ready: func() { f.settled.Do(func() { close(f.ready) }) },
		jobs: map[sched.JobID]*job{}, nodes: newNodeNames(), relay: f.relay, meter: newMeter(), spans: &spans{f.tracing},
	}
	f.owner = o
	o.meter.metrics.WatchTracing(f.tracing)
	record, err := f.record()
	if err != nil {
		return err
	}
	o.steps = runloop.NewStepper(o.act, record)
	if f.cfg.History != "" {
		if o.history, err = openHistory(f.cfg.History, f.cfg.ID); err != nil {
			return err
		}
	}
	o.timers = runloop.NewTimers(clock, func(_ sched.Addr, token uint64) {
		_ = f.urge(func() { o.stepShell(&sched.Message{Kind: sched.Timeout, Token: token}) })
	})
	f.loop = runloop.New(f.cfg.InboxLimit, f.handle)
	if err := f.listen(); err != nil {
		return err
	}
	f.relay.internal, f.relay.scheduler = f.internal.Addr().String(), f.scheduler.Addr().String()
	return f.resume()
}

// resume opens the journal and gives what it holds to the core.
func (f *Frontend) resume() error {
	o := f.owner
	if err := f.knowMasters(); err != nil {
		return err
	}
	j, rep, err := journal.Open(f.cfg.Data, journal.Options{Frontend: f.cfg.ID, NoSync: f.cfg.NoSync, Retention: f.cfg.Retention, Logger: f.log}, o.restore)
	if err != nil {
		return err
	}
	f.journal, o.journal = j, j
	f.incarnation = int64(rep.Incarnation) //nolint:gosec // 24 bits
	f.inbox = link.NewInbox(f.incarnation)
	o.acker = &acker{log: f.log, self: f.self, address: f.relay.internal, number: f.incarnation, codec: f.codec}
	o.restored(rep)
	return f.openLinks()
}

func (f *Frontend) knowMasters() error {
	for g, address := range f.cfg.Masters {
		pool, err := client.New(client.Options{Name: fmt.Sprintf("master of group %d", g), Address: address, MaxConns: 8, BackoffMax: 200 * time.Millisecond})
		if err != nil {
			return fmt.Errorf("masters: the address %q of group %d: %w", address, g, err)
		}
		f.pools = append(f.pools, pool)
		f.masters = append(f.masters, &master{group: g, address: address, peer: wire.NewPeerClient(pool, f.codec), heard: time.Now()})
	}
	f.owner.masters = f.masters
	return nil
}

func (f *Frontend) openLinks() error {
	for _, m := range f.masters {
		l, err := link.New(m.peer, link.Options{
			Self: f.self, Peer: roster.MasterRef(m.group), Address: f.relay.internal, Incarnation: f.incarnation, Probe: -1,
			OnState: func(s link.State) { f.log.Info("way to a master", "group", m.group, "state", s.String()) },
			OnRefused: func(n int, why error) {
				_ = f.urge(func() { f.owner.refusedBy(m, n, why) })
			},
		})
		if err != nil {
			return err
		}
		m.out = l
	}
	return nil
}

// refusedBy takes a master's word that it does not know this frontend: the next
// hello registers it anew, and what the master should hold is sent again.
func (o *owner) refusedBy(m *master, messages int, why error) {
	o.log.Error("a master refused messages", "group", m.group, "messages", messages, "problem", why)
	m.incarnation = 0
}

func (f *Frontend) listen() (err error) {
	f.scheduler, err = server.New(wire.SchedulerProcessor(f), server.Options{
		Name: "scheduler service of " + f.cfg.ID, Address: f.cfg.Listen, MaxFrame: server.SubmitMaxFrame, Log: f.log,
	})
	if err == nil {
		err = f.scheduler.Listen()
	}
	if err != nil {
		return err
	}
	f.internal, err = server.New(wire.PeerProcessor(wire.PeerPorts{Batches: f, Reports: f}, f.codec), server.Options{
		Name: "internal service of " + f.cfg.ID, Address: f.cfg.InternalListen, MaxFrame: wire.MaxBatchBytes, Log: f.log,
	})
	if err == nil {
		err = f.internal.Listen()
	}
	if err != nil || f.cfg.HTTP == "" {
		return err
	}
	f.web = telemetry.NewServer(telemetry.ServerOptions{Addr: f.cfg.HTTP, Gatherer: f.owner.meter.metrics.Registry, Ready: f.readiness, Logger: f.log})
	f.web.Handle("GET /status", telemetry.JSON(func(ctx context.Context) (any, error) { return f.List(ctx, 0) }))
	return f.web.Start()
}

// readiness says why the frontend is not ready, nil when it is.
func (f *Frontend) readiness() error {
	select {
	case <-f.ready:
		return nil
	default:
		return errors.New("starting: masters were not asked yet")
	}
}

// record opens the recording, when one is wanted.
func (f *Frontend) record() (*runloop.Recorder, error) {
	if f.cfg.Record == "" {
		return nil, nil
	}
	r, end, err := runloop.RecordTo(f.cfg.Record, f.cfg.ID)
	f.recording = end
	return r, err
}

// handle is one batch of the owner goroutine.
func (f *Frontend) handle(batch []func()) {
	for _, do := range batch {
		do()
	}
	f.owner.flush()
}

func (f *Frontend) post(do func()) error        { return f.loop.Post(do) }
func (f *Frontend) urge(do func()) error        { return f.loop.Urge(do) }
func (f *Frontend) loopUrge(do ...func()) error { return f.loop.Urge(do...) }

// fail ends the daemon; the first reason counts.
func (f *Frontend) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// Ready is closed when the frontend serves and its masters were asked.
func (f *Frontend) Ready() <-chan struct{} { return f.ready }

// Addr is where applications reach it, host:port.
func (f *Frontend) Addr() string { return f.scheduler.Addr().String() }

// InternalAddr is where the other daemons reach it.
func (f *Frontend) InternalAddr() string { return f.internal.Addr().String() }

// HTTP is where its status is served, "" when off.
func (f *Frontend) HTTP() string {
	if f.web == nil {
		return ""
	}
	return f.web.Addr()
}

// Run serves until ctx is done and returns when everything it started is gone.
// The error is what ended it before.
func (f *Frontend) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	unsubscribe, err := f.connectNotices()
	if err != nil {
		return errors.Join(err, f.release())
	}
	loopCtx, stopLoop := context.WithCancel(context.Background())
	defer stopLoop()
	var owner, all sync.WaitGroup
	owner.Go(func() { f.loop.Run(loopCtx) })
	for _, m := range f.masters {
		all.Go(func() { f.greet(ctx, m) })
	}
	for _, s := range []*server.Server{f.scheduler, f.internal} {
		all.Go(func() {
			if err := s.Run(ctx); err != nil {
				f.fail(err)
			}
		})
	}
	settle := time.AfterFunc(settleAfter, func() { _ = f.urge(f.owner.settle) })
	defer settle.Stop()
	select {
	case <-ctx.Done():
	case err = <-f.failed:
		f.log.Error("the frontend ends", "problem", err)
	}
	stop()
	all.Wait()
	err = errors.Join(err, unsubscribe())
	stopLoop()
	owner.Wait()
	return errors.Join(err, f.release())
}

// connectNotices subscribes to reports and publishes acknowledgements; the
// function ends both.
func (f *Frontend) connectNotices() (end func() error, err error) {
	if f.cfg.NATS == "" {
		return func() error { return nil }, nil
	}
	conn, err := notice.Connect(notice.Options{URL: f.cfg.NATS, Name: f.cfg.ID, Log: f.log})
	if err != nil {
		return nil, err
	}
	f.owner.acker.publish = conn.Publish
	f.owner.acker.subject = func(node string) string { return notice.AckSubject(f.cfg.Cluster, node) }
	if err := conn.Subscribe(notice.ReportSubject(f.cfg.Cluster, f.cfg.ID), f.notice); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn.Close, nil
}

// release closes what New opened; it is safe at any stage.
func (f *Frontend) release() (err error) {
	for _, s := range []*server.Server{f.scheduler, f.internal} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if f.web != nil {
		f.web.Stop()
	}
	for _, m := range f.masters {
		if m.out != nil {
			err = errors.Join(err, m.out.Close())
		}
	}
	for _, p := range f.pools {
		err = errors.Join(err, p.Close())
	}
	if f.relay != nil {
		f.relay.close()
	}
	if f.journal != nil {
		err = errors.Join(err, f.journal.Close())
	}
	if f.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		err = errors.Join(err, f.tracing.Shutdown(ctx))
	}
	if f.recording != nil {
		err = errors.Join(err, f.recording())
	}
	if f.owner != nil && f.owner.history != nil {
		err = errors.Join(err, f.owner.history.close())
	}
	return err
}
