package frontend

import (
	"context"
	"net/http"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/frontend/events"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/keys"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/frontend/usage"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/leaders"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/internal/webpage"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// schedulerService is the service for users and applications. It may be called from
// anywhere.
type schedulerService struct {
	cfg          *Config
	policy       *sched.Policy
	codec        *wire.Codec
	mailbox      daemon.Mailbox
	loop         *runloop.Loop[func()]
	stopping     <-chan struct{}
	owner        *owner // for the owner goroutine, but for queries to the masters
	submissions  *submissions
	journal      *journal.Journal
	scope        sched.JobScope // of the ids of its jobs
	listeners    *listeners.Listeners
	registering  sync.Mutex // held while a listener is set and appended to the journal
	applications *applications
	history      *usage.Keeper
	events       *events.Ring
	to           func(wire.Ref) client.Security
	staging      *staging.Keeper
	keys         *keys.Keeper // nil where keys are this frontend's alone
	pageURL      string       // the address of its page for others, "" for none
	natsFaults   jetstore.KnownFaults
}

var _ wire.Scheduler = (*schedulerService)(nil)

// ask runs a question on the owner goroutine and waits for its answer; tried is its
// purpose, for errors.
func ask[T any](ctx context.Context, srv *schedulerService, tried string, question func(*owner) T) (T, error) {
	return daemon.Ask(ctx, srv.mailbox, tried, func() T { return question(srv.owner) })
}

// listen opens the ports; calls are served once Run runs.
func (f *Frontend) listen() (err error) {
	clients, o := f.gate(wire.WithApplications(wire.SchedulerProcessor(f.service), &f.applications)), server.Options{
		Name: "scheduler service of " + f.cfg.ID, Address: f.cfg.Listen, MaxFrame: server.ClientMaxFrame, LeavesDescriptors: true, EndAfter: wire.EndsConnection,
		Security: server.Security{Allow: access.For(access.SchedulerService, access.ApplicationService)},
	}
	if f.schedulerServer, err = f.life.Listen(clients, o); err != nil {
		return err
	}
	if f.published, err = f.life.ListenPublished(f.cfg.PublishedListen, clients, o, access.SchedulerService); err != nil {
		return err
	}
	f.internalServer, err = f.life.Listen(f.gate(wire.PeerProcessor(wire.PeerPorts{Batches: f, Reports: f, Inventory: f, Files: &f.applications, Registrar: leaders.Announcements{
		Self: wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}, Leads: func(h *wire.Hello) { f.owner.dispatch.Leads(h) },
	}}, f.codec)), server.Options{
		Name: "internal service of " + f.cfg.ID, Address: f.cfg.InternalListen, MaxFrame: wire.MaxBatchBytes,
		Security: server.Security{Allow: access.For(access.PeerService)},
	})
	if err != nil {
		return err
	}
	f.address = f.cfg.Advertised(f.schedulerServer.Addr().String(), f.cfg.Masters...)
	f.internalAddress = f.cfg.Advertised(f.internalServer.Addr().String(), f.cfg.Masters...)
	f.page = webpage.NewOfFrontend(webpage.Place{Name: f.cfg.ID, Source: f.service, Applications: f.applicationsFor}, f.dialFrontend)
	page := f.page
	f.life.OnClose(func() error { page.Close(); return nil })
	if f.web, err = f.life.Status(f.cfg.HTTP, f.metrics.Metrics, f.ready(), func(s *telemetry.Server) {
		s.OnStop(page.Close)
		for _, pattern := range page.Patterns() {
			s.Handle(pattern, f.whileServing(page))
		}
		s.Handle("GET /status", telemetry.JSON(func(ctx context.Context) (any, error) {
			if f.standby != nil {
				if err := f.standby.closed(); err != nil {
					return nil, err
				}
			}
			return f.service.List(ctx, 0, "")
		}))
	}); err == nil && f.web != nil {
		f.service.pageURL = pageAddress(f.web.URL(), f.cfg.Advertised(f.web.Addr(), f.cfg.Masters...), f.address)
	}
	return err
}

// whileServing refuses requests while this process does not act under the frontend's name.
func (f *Frontend) whileServing(h http.Handler) http.Handler {
	if f.standby == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f.standby.closed(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// gate has the calls refused that come while this process does not act under the frontend's name.
func (f *Frontend) gate(p thrift.TProcessor) thrift.TProcessor {
	if f.standby == nil {
		return p
	}
	return wire.Gate(p, f.standby.closed)
}

// ready returns what says whether the frontend can serve others, nil for what every daemon says.
func (f *Frontend) ready() func() error {
	if f.standby == nil {
		return nil
	}
	return f.standby.ready
}

// Deliver accepts messages of a master and, under policies that bind tasks late, of nodes
// and other frontends. A peer that is not on the membership yet receives an error that
// asks it to retry, while the membership is refreshed.
func (f *Frontend) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return f.inbox.Accept(b, func(b *wire.Batch) (problem string, err error) {
		if err := f.owner.dispatch.Unknown(b); err != nil {
			return "", err
		}
		if err := f.postBatch(b, func() { f.owner.dispatch.Deliver(b) }); err != nil {
			return "", f.mailbox.Refusal(err, "accepting messages of "+b.Sender.String())
		}
		return "", nil
	})
}

// postBatch runs do on the owner goroutine, or returns why there is no room for a batch whose
// sender does not wait for that. Every other caller waits, and the memory of its call is bounded
// by its server.
func (f *Frontend) postBatch(b *wire.Batch, do func()) error {
	bytes, err := f.waiting.Enter(b)
	if err != nil {
		return err
	}
	f.metrics.inboxBytes.Add(float64(bytes))
	leave := func() {
		f.waiting.Leave(bytes)
		f.metrics.inboxBytes.Sub(float64(bytes))
	}
	err = f.post(func() {
		defer leave()
		do()
	})
	if err != nil {
		leave()
	}
	return err
}
