package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var _ wire.Scheduler = (*Frontend)(nil)

// Frontend is the daemon. New makes it, reads its journal and opens its
// listeners; Run serves until its context ends.
type Frontend struct {
	life         *daemon.Lifecycle
	door         daemon.Owner // to the owner goroutine
	cfg          Config
	log          *slog.Logger
	self         wire.Ref
	incarnation  int64
	codec        *wire.Codec
	inbox        *link.Inbox
	loop         *runloop.Loop[func()]
	owner        *owner
	journal      *journal.Journal
	masters      []*master // peer and address of each may be read anywhere
	listeners    *listeners.Listeners
	applications *application.Service // with executors of their own
	follower     *membership.Follower // of the first master
	scheduler    *server.Server
	internal     *server.Server
	web          *telemetry.Server // nil when off
}

// New returns a frontend that listens and does not serve yet. The error names the
// setting, the address or the journal that cannot work. Run, or Close, must
// follow.
func New(cfg Config, log *slog.Logger) (*Frontend, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("frontend: %w", err)
	}
	p, err := planOf(&cfg)
	if err != nil {
		return nil, err
	}
	log = log.With("role", "frontend", "frontend", cfg.ID)
	f := &Frontend{
		life: daemon.New("frontend", log), cfg: cfg, log: log, self: wire.Ref{Role: sched.Distributor, Name: cfg.ID},
	}
	f.door = daemon.Owner{Name: "frontend " + cfg.ID, Post: f.post}
	if err := f.assemble(p); err != nil {
		return nil, errors.Join(err, f.life.Close())
	}
	return f, nil
}

// assemble makes the parts in the order in which they need each other.
func (f *Frontend) assemble(p plan) (err error) {
	clock := runloop.NewClock()
	names := addrmap.New()
	f.codec = wire.NewCodec(names, clock.Now)
	addr := names.Addr(f.self)
	core := p.NewDistributor(sched.DistributorConfig{Self: addr, Seed: f.cfg.Seed, Params: p.params})
	meter := newMeter()
	tracing, err := f.life.Tracing(telemetry.Options{Service: "pigeon-frontend", Instance: f.cfg.ID, Endpoint: f.cfg.OTLP, Ratio: f.cfg.TraceRatio}, meter.metrics)
	if err != nil {
		return err
	}
	o := &owner{
		cfg: f.cfg, log: f.log, self: f.self, addr: addr, plan: p, core: core, clock: clock, addrs: names, peers: newPeers(),
		urge: f.loopUrge, fail: f.life.Fail, ready: f.life.MarkReady,
		jobs: map[sched.JobID]*job{}, nodes: newNodeNames(), meter: meter, spans: &spans{tracing},
	}
	f.owner = o
	f.listeners = listeners.New(f.log, listeners.Patience)
	f.life.OnClose(f.listeners.Close)
	o.listeners = f.listeners
	o.meter.watchListeners(f.listeners)
	record, err := f.life.Record(f.cfg.Record, f.cfg.ID)
	if err != nil {
		return err
	}
	o.steps = runloop.NewStepper(o.act, record)
	o.meter.metrics.WatchMessages(o.steps.Messages)
	if f.cfg.History != "" {
		if o.history, err = openHistory(f.cfg.History, f.cfg.ID); err != nil {
			return err
		}
		f.life.OnClose(o.history.close)
	}
	o.timers = runloop.NewTimers(clock, func(_ sched.Addr, token uint64) {
		_ = f.urge(func() { o.stepShell(&sched.Message{Kind: sched.Timeout, Token: token}) })
	})
	f.loop = runloop.New(f.cfg.InboxLimit, f.handle)
	if err := f.listen(); err != nil {
		return err
	}
	o.internal, o.scheduler = f.internal.Addr().String(), f.scheduler.Addr().String()
	return f.resume()
}

// incarnation names this process to its peers. The journal's number alone would
// not do: it begins again with an empty folder, while masters remember.
func incarnation(rep *journal.Report) int64 {
	return int64(rep.Incarnation&(1<<24-1))<<39 | rand.Int64N(1<<39) //nolint:gosec // a name, no secret
}

// resume opens the journal and gives what it holds to the core.
func (f *Frontend) resume() error {
	o := f.owner
	if err := f.knowMasters(); err != nil {
		return err
	}
	f.follower = f.newFollower()
	j, rep, err := journal.Open(f.cfg.Data, journal.Options{Frontend: f.cfg.ID, NoSync: f.cfg.NoSync, Retention: f.cfg.Retention, Logger: f.log}, o.restore)
	if err != nil {
		return err
	}
	f.journal, o.journal = j, j
	f.life.OnClose(j.Close)
	f.incarnation = incarnation(rep)
	o.incarnation = f.incarnation
	f.inbox = link.NewInbox(f.incarnation)
	o.peers.links = f.openLinkSet()
	f.life.OnClose(o.peers.links.Close)
	o.acker = &acker{log: f.log, self: f.self, address: o.internal, number: f.incarnation, codec: f.codec}
	o.restored(rep)
	if err := f.serveApplications(); err != nil {
		return err
	}
	return f.openLinks()
}

// handle is one batch of the owner goroutine.
func (f *Frontend) handle(batch []func()) {
	for _, do := range batch {
		do()
	}
	f.owner.flush()
}

// ask runs a question on the owner goroutine and waits for its answer. tried says in
// errors what for.
func ask[T any](ctx context.Context, f *Frontend, tried string, question func(*owner) T) (T, error) {
	return daemon.Ask(ctx, f.door, tried, func() T { return question(f.owner) })
}

func (f *Frontend) post(do func()) error        { return f.loop.Post(do) }
func (f *Frontend) urge(do func()) error        { return f.loop.Urge(do) }
func (f *Frontend) loopUrge(do ...func()) error { return f.loop.Urge(do...) }

// Ready is closed when the frontend serves and its masters were asked.
func (f *Frontend) Ready() <-chan struct{} { return f.life.Ready() }

// Close frees what New opened when Run was never called. It is safe twice, and
// does nothing after Run.
func (f *Frontend) Close() error { return f.life.Close() }

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

// Messages counts what its core sent to others so far, as the papers do: a batch of k
// tasks counts k. It may be called from anywhere.
func (f *Frontend) Messages() uint64 { return f.owner.steps.Messages() }
