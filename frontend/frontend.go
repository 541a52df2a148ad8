package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/link"
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
	pools        []*client.Pool
	relay        *relay
	applications *application.Service // with executors of their own
	hurry        chan struct{}        // of size 1: a stranger called, so the roll is asked for at once
	scheduler    *server.Server
	internal     *server.Server
	web          *telemetry.Server // nil when off
	tracing      *telemetry.Tracing
	recording    func() error
	ready        chan struct{}
	settled      sync.Once     // guards closing ready
	stopping     chan struct{} // closed when Run begins to end
	claimed      atomic.Bool   // Run or Close was called
	failed       chan error
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
	f := &Frontend{
		cfg: cfg, log: log.With("role", "frontend", "frontend", cfg.ID), self: wire.Ref{Role: sched.Distributor, Name: cfg.ID},
		hurry: make(chan struct{}, 1), ready: make(chan struct{}), stopping: make(chan struct{}), failed: make(chan error, 1),
	}
	if err := f.assemble(p); err != nil {
		return nil, errors.Join(err, f.release())
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
	led, ok := booksOf(core)
	if !ok {
		return fmt.Errorf("the distributor of policy %s keeps no ledger, so it cannot run live", p.Name)
	}
	if f.tracing, err = telemetry.Setup(context.Background(), telemetry.Options{
		Service: "pigeon-frontend", Instance: f.cfg.ID, Endpoint: f.cfg.OTLP, Ratio: f.cfg.TraceRatio, Logger: f.log,
	}); err != nil {
		return err
	}
	o := &owner{
		cfg: f.cfg, log: f.log, self: f.self, addr: addr, plan: p, core: core, books: led, clock: clock, addrs: names, peers: newPeers(),
		urge: f.loopUrge, fail: f.fail, ready: func() { f.settled.Do(func() { close(f.ready) }) },
		jobs: map[sched.JobID]*job{}, nodes: newNodeNames(), meter: newMeter(), spans: &spans{f.tracing},
	}
	f.owner = o
	f.relay = newRelay(f.log)
	o.relay = f.relay
	o.meter.watchRelay(f.relay)
	o.meter.metrics.WatchTracing(f.tracing)
	record, err := f.record()
	if err != nil {
		return err
	}
	o.steps = runloop.NewStepper(o.act, record)
	o.meter.metrics.WatchMessages(o.steps.Messages)
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
	j, rep, err := journal.Open(f.cfg.Data, journal.Options{Frontend: f.cfg.ID, NoSync: f.cfg.NoSync, Retention: f.cfg.Retention, Logger: f.log}, o.restore)
	if err != nil {
		return err
	}
	f.journal, o.journal = j, j
	f.incarnation = incarnation(rep)
	o.incarnation = f.incarnation
	f.inbox = link.NewInbox(f.incarnation)
	o.peers.links = f.openLinkSet()
	o.acker = &acker{log: f.log, self: f.self, address: o.internal, number: f.incarnation, codec: f.codec}
	o.restored(rep)
	if err := f.serveApplications(); err != nil {
		return err
	}
	return f.openLinks()
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
