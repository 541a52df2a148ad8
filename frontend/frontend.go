package frontend

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/after"
	"github.com/pigeon-sched/pigeon/frontend/attempts"
	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/journal/replica"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/frontend/quotas"
	"github.com/pigeon-sched/pigeon/frontend/usage"
	"github.com/pigeon-sched/pigeon/internal/addrmap"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/launchsecret"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/owners"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/internal/webpage"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Frontend is the daemon. New creates it, reads its journal and opens its listeners; Run
// serves until its context ends.
type Frontend struct {
	life    *daemon.Lifecycle
	mailbox daemon.Mailbox // of the owner goroutine
	cfg     Config
	log     *slog.Logger
	policy  sched.Policy
	process dispatch.Process
	codec   *wire.Codec
	inbox   *link.Inbox
	waiting *daemon.ByteLimit // the batches in the inbox whose senders do not wait for an answer
	loop    *runloop.Loop[func()]
	metrics *metrics

	firstAttempt int32                                         // the first number of this life for attempts
	begin        func(life uint64, scope sched.JobScope) error // makes the dispatcher of a life

	owner        *owner
	service      *schedulerService
	listeners    *listeners.Listeners
	applications applications
	standby      *standby // nil with a local journal
	learned      []*learnedFile
	history      *usage.Keeper
	events       *events.Ring
	watched      *clusterEvents

	schedulerServer *server.Server
	internalServer  *server.Server
	published       []string          // where published clients are served for an owner, host:port
	web             *telemetry.Server // nil when off
	page            *webpage.Page

	address, internalAddress string // of the two servers, as others are told

	quotas owners.Reader[owners.Quotas]

	unreadable daemon.SharedLogPace // report notices, by their publisher
}

// reprobeAfter and doubtFor are shortened by tests.
var reprobeAfter, doubtFor = dispatch.ReprobeAfter, dispatch.DoubtFor

// New returns a frontend that listens but does not serve yet. The error names the
// setting, the address or the journal at fault. The caller must call Run or Close.
func New(cfg Config, log *slog.Logger) (*Frontend, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("frontend: %w", err)
	}
	log = log.With("role", "frontend", "frontend", cfg.ID)
	f := &Frontend{life: daemon.New("frontend", log), cfg: cfg, log: log, metrics: newMetrics()}
	f.mailbox = daemon.Mailbox{Name: "frontend " + cfg.ID, Post: f.post}
	if err := f.assemble(); err != nil {
		return nil, errors.Join(err, f.life.Close())
	}
	return f, nil
}

// assemble makes the parts in the order in which they need each other.
func (f *Frontend) assemble() error {
	if err := f.life.Secure(f.cfg.Settings, f.metrics.Metrics, wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}); err != nil {
		return err
	}
	o := &owner{log: f.log, fail: f.fail, after: after.New()}
	f.owner, f.loop = o, runloop.New(f.cfg.InboxLimit, o.handle)
	o.outbox.Post, o.outbox.Release = f.postUnbounded, o.release
	f.listeners = listeners.New(f.log, listeners.Patience)
	f.life.OnClose(f.listeners.Close)
	f.metrics.watchListeners(f.listeners.Stats)
	f.waiting = daemon.NewByteLimit("inbox_bytes", f.cfg.InboxBytes)
	f.metrics.watchWaiting(f.waiting.Refused)
	policy, params, err := f.cfg.Configure(0)
	if err != nil {
		return err
	}
	f.policy = policy
	clock, names := runloop.NewClock(), addrmap.New()
	if policy.SingleMaster() {
		names = addrmap.NewNumbered()
	}
	f.codec = wire.NewCodec(names, clock.Now)
	f.codec.OnUnknown(f.metrics.unknown.Report(f.log))
	f.newHistory()
	f.newEvents()
	if err := f.newJobs(clock); err != nil {
		return err
	}
	if err := f.openQuotas(); err != nil {
		return err
	}
	f.service = &schedulerService{
		cfg: &f.cfg, policy: &f.policy, codec: f.codec, mailbox: f.mailbox, loop: f.loop, stopping: f.life.Stopping(),
		owner: o, listeners: f.listeners, applications: &f.applications, history: f.history, events: f.events, to: f.life.To,
	}
	f.begin = func(life uint64, scope sched.JobScope) error {
		o.scope, f.service.scope = scope, scope
		return f.newDispatcher(params, clock, names, life)
	}
	if err := f.checkFolder(); err != nil {
		return err
	}
	if f.cfg.replicated() {
		f.standby = newStandby(f)
	}
	if err := f.listen(); err != nil {
		return err
	}
	if f.standby != nil {
		return nil // Run goes on, when this process has the frontend's name
	}
	return f.resume(nil)
}

// closed returns nil without a standby.
func (f *Frontend) closed() func() error {
	if f.standby == nil {
		return nil
	}
	return f.standby.closed
}

// newJobs makes the table of jobs and the features that follow what happens to them.
func (f *Frontend) newJobs(clock runloop.Clock) error {
	o := f.owner
	tracing, err := f.life.Tracing(telemetry.Options{Service: "pigeon-frontend", Instance: f.cfg.ID, Endpoint: f.cfg.OTLP, Ratio: f.cfg.TraceRatio}, f.metrics.Metrics)
	if err != nil {
		return err
	}
	o.traces, o.attempts, o.held, o.learning = newTraces(tracing, f.log), attempts.New(f.log), quotas.New(), f.newLearning(clock)
	o.taskEnds.Listeners, f.metrics.jobs.owner = f.listeners, o
	observers, err := f.observers()
	if err != nil {
		return err
	}
	o.jobs = jobs.New(jobs.Options{Retention: f.cfg.Retention, MaxEnded: f.cfg.MaxEnded, Clock: clock, Observers: observers})
	return nil
}

// observers returns all features that follow what happens to jobs, in the order in which they are
// told. One more needs a line here, and no change of package jobs.
func (f *Frontend) observers() ([]jobs.Observer, error) {
	o := f.owner
	list := []jobs.Observer{
		o.traces,
		f.metrics.jobs,
		o.attempts,
		o.held,
		o.learning,
		usage.NewJobs(f.history, o.attempts),
		events.NewJobs(f.events),
		&o.taskEnds,
		heldJobs{o},
		stagedFiles{o},
		sharedKeys{f},
	}
	if f.cfg.History == "" {
		return list, nil
	}
	h, err := openTaskHistory(f.cfg.History, f.cfg.ID)
	if err != nil {
		return nil, err
	}
	f.life.OnClose(h.Close)
	return append(list, h), nil
}

// newDispatcher makes the core and its dispatcher, whose attempts have the numbers of this
// life of the journal.
func (f *Frontend) newDispatcher(params sched.Params, clock runloop.Clock, names *addrmap.Map, life uint64) error {
	first, err := firstAttempt(f.cfg.ID, life)
	if err != nil {
		return err
	}
	f.firstAttempt = first
	record, err := f.life.Record(f.cfg.Record, f.cfg.ID)
	if err != nil {
		return err
	}
	record.Life(first)
	self := wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}
	f.owner.dispatch, err = dispatch.New(dispatch.Options{
		Self: self, Policy: f.policy, Core: f.policy.NewDistributor(sched.DistributorConfig{Self: names.Addr(self), Seed: f.cfg.Seed, Params: params, FirstAttempt: first, LossWindow: sched.Time(f.cfg.LossWindow)}),
		Masters: f.cfg.Masters, MasterLost: f.cfg.MasterLost, ReprobeAfter: reprobeAfter, DoubtFor: doubtFor,
		Addrs: names, Clock: clock, Codec: f.codec, Recorder: record, Log: f.log, Metrics: f.metrics.dispatch,
		Life: f.life, Loop: f.loop, Unknown: f.metrics.unknown, Events: f.events, Closed: f.closed(), Jobs: coreJobs{f.owner.jobs, f.owner},
	})
	if err != nil {
		return err
	}
	f.life.OnClose(f.owner.dispatch.Close)
	f.metrics.WatchMessages(f.owner.dispatch.Messages)
	return nil
}

// incarnation returns a number that identifies this process to its peers. The journal's
// own number is not enough: in an emptied folder it starts again at the beginning, while
// masters still remember the earlier ones.
func incarnation(rep *journal.Report) int64 {
	return int64(rep.Incarnation&(1<<24-1))<<39 | rand.Int64N(1<<39) //nolint:gosec // a name, no secret
}

// resume opens the journal, which calls begin with the number of its life, steps its records
// into the core, and makes the parts that depend on the incarnation of this process. The
// journal is in the folder without a replica.
func (f *Frontend) resume(r *replica.Store) error {
	o, folder := f.owner, f.cfg.Data
	if r != nil {
		folder = replicaFolder(f.cfg.Data)
	}
	if err := f.openStaging(); err != nil {
		return err
	}
	j, rep, err := journal.Open(folder, journal.Options{Frontend: f.cfg.ID, FS: f.cfg.journalDisk(), Replica: r, Life: f.begin, NoSync: f.cfg.NoSync, Retention: f.cfg.Retention, MaxEnded: f.cfg.MaxEnded, Logger: f.log, Damaged: f.fail}, f.restore)
	if err != nil {
		return err
	}
	f.service.submissions = &submissions{
		admission:    admission{cfg: &f.cfg, owner: o, counts: f.metrics.refused, refusals: events.NewRefusals(f.events)},
		firstAttempt: f.firstAttempt, journal: j, loop: f.loop,
	}
	o.grants = &grants{submissions: f.service.submissions, applications: &f.applications, uses: map[sched.JobID]*use{}}
	f.service.journal, o.outbox.Journal = j, j
	o.secrets = launchsecret.NewJobs(rep.ReportKey)
	f.life.OnClose(f.closeJournal)
	f.metrics.watchJournal(j.EndedJobs, j.Forgotten, j.MemoryBytes)
	number := incarnation(rep)
	f.inbox = link.NewInbox(wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}, number)
	f.process = dispatch.Process{Incarnation: number, Internal: f.internalAddress, Scheduler: f.address, Token: f.standby.leadershipToken(), Inbox: f.inbox}
	f.metrics.WatchMisdirected(f.inbox.Misdirected)
	o.taskEnds.Scheduler = f.process.Scheduler
	o.acker = &acker{frontend: f}
	o.inventories = &inventories{jobs: o.jobs, dispatch: o.dispatch, digests: map[string]digest{}}
	if err := o.dispatch.Open(f.process); err != nil {
		return err
	}
	f.restored(rep)
	if err := f.restoreEnded(j); err != nil {
		return err
	}
	if err := o.resumeHeld(j); err != nil {
		return err
	}
	f.postUnbounded(func() {}) // a batch, with which what follows for held jobs is written
	f.loadLearned()
	f.watched = newClusterEvents(f.cfg.ID, o.dispatch, f.events, f.log)
	f.publishStart(rep)
	return f.serveApplications()
}

func (f *Frontend) post(do func()) error { return f.loop.Post(do) }

// postUnbounded runs do on the owner goroutine, for work that this frontend has under
// way. A stopped daemon ignores it.
func (f *Frontend) postUnbounded(do func()) { _ = f.loop.PostUnbounded(do) }

// Ready is closed when the frontend serves and all masters have answered or a second has
// passed.
func (f *Frontend) Ready() <-chan struct{} { return f.life.Ready() }

// Close frees what New opened if Run was never called. It may be called twice, and does
// nothing after Run.
func (f *Frontend) Close() error { return f.life.Close() }

// Addr returns the host:port at which applications reach the frontend, as they are told.
func (f *Frontend) Addr() string { return f.address }

// PublishedAddrs returns the addresses of published_listen, in their order.
func (f *Frontend) PublishedAddrs() []string { return f.published }

// InternalAddr returns the host:port at which other daemons reach it, as they are told.
func (f *Frontend) InternalAddr() string { return f.internalAddress }

// HTTP returns the host:port at which its status is served, "" when off.
func (f *Frontend) HTTP() string {
	if f.web == nil {
		return ""
	}
	return f.web.Addr()
}

// Gatherer returns the metrics that it serves.
func (f *Frontend) Gatherer() prometheus.Gatherer { return f.metrics.Registry }

// Messages returns how many messages its core has sent so far, counted as in the papers:
// a batch of k tasks counts k. It may be called from anywhere.
func (f *Frontend) Messages() uint64 {
	if f.standby != nil && !f.standby.serving.Load() {
		return 0
	}
	return f.owner.dispatch.Messages()
}
