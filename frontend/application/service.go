package application

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Jobs is what the service needs of its frontend. Both are done later, in the
// order of the calls; neither waits.
type Jobs interface {
	// Submit enters a job. The service's TaskEnded is called for each of its tasks.
	Submit(Job)
	// Cancel takes back what waits of the last tasks of a job that have not ended, of
	// all when tasks is 0. TaskEnded is not called for them. A job that has ended is no
	// matter.
	Cancel(key string, tasks int)
}

// Node is a node monitor; a PeerClient is one.
type Node interface {
	OrderExecutors(ctx context.Context, o *wire.Order) (wire.OrderReply, error)
	Holdings(ctx context.Context, frontend string, incarnation, version int64, wait time.Duration) (wire.Holdings, error)
}

// Config is what a Service needs.
type Config struct {
	Frontend     string        // its name
	Address      string        // where daemons reach it
	Scheduler    string        // where applications reach it
	Cutoff       time.Duration // between the classes
	DefaultClass sched.Class
	Lease        time.Duration // silence of an application that ends it; 0 for 15 s
	Refusal      string        // why no application is served, "" when they are
	Files        *files.Store
	Jobs         Jobs
	Memberships  []wire.MembershipSource // of all masters
	// Dial gives a way to a node monitor and what closes it.
	Dial   func(name, address string) (Node, func(), error)
	Logger *slog.Logger
}

// Service serves applications with executors. Run does what is to be done beside
// the calls; what follows a master's membership, or a node, has a goroutine from the
// first application until Run ends.
type Service struct {
	cfg   Config
	first chan struct{} // closed with the first application
	done  chan struct{} // closed when Run is to end

	mu          sync.Mutex
	registry    *registry
	memberships []wire.Membership
	begun       bool
	ctx         context.Context // of Run; nil before
	following   sync.WaitGroup
}

var (
	_ wire.ExecutorOwners = (*Service)(nil)
	_ wire.FileKeeper     = (*Service)(nil)
)

// New makes a service without applications.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Lease == 0 {
		cfg.Lease = 15 * time.Second
	}
	b := newRegistry(cfg.Frontend, cfg.Address, cfg.Lease)
	b.groups = len(cfg.Memberships)
	return &Service{cfg: cfg, first: make(chan struct{}), done: make(chan struct{}), registry: b, memberships: make([]wire.Membership, len(cfg.Memberships))}
}

// update changes the book and then does what follows from it. Jobs are given and
// cancelled under the lock, so that they come in the order of the changes.
func (s *Service) update(change func(b *registry, now time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.registry, time.Now())
	t := &s.registry.effects
	for _, c := range t.withdraw {
		s.cfg.Jobs.Cancel(c.key, c.tasks)
	}
	for _, j := range t.submit {
		s.cfg.Jobs.Submit(j)
	}
	for name := range t.orders {
		if n := s.registry.nodes[name]; n != nil {
			select {
			case n.wake <- struct{}{}:
			default: // one is due already
			}
		}
	}
	t.withdraw, t.submit = nil, nil
	clear(t.orders)
}

// RegisterApplication takes an application in, or over.
func (s *Service) RegisterApplication(_ context.Context, a *api.Application) (api.ApplicationReply, error) {
	if s.cfg.Refusal != "" {
		return api.ApplicationReply{}, &api.Error{Problem: api.Invalid, What: s.cfg.Refusal, Subject: subject(a.ID), Tried: "registering it at frontend " + s.cfg.Frontend, Next: "run the cluster with policy pigeon"}
	}
	for _, f := range a.Template.Files {
		if err := s.cfg.Files.Expect(f); err != nil {
			return api.ApplicationReply{}, err
		}
	}
	var err error
	s.update(func(b *registry, now time.Time) {
		known := b.apps[a.ID] != nil
		if err = b.register(a, now); err == nil && !s.begun {
			s.begun = true
			close(s.first)
		}
		if err == nil && !known {
			s.cfg.Logger.Info("an application has registered", "application", a.ID, "name", a.Name, "grants", a.Grants, "memory", a.Template.Memory)
		}
	})
	if err != nil {
		return api.ApplicationReply{}, err
	}
	return s.reply(a), nil
}

// reply needs no lock.
func (s *Service) reply(a *api.Application) api.ApplicationReply {
	r := api.ApplicationReply{Lease: s.cfg.Lease, Cutoff: s.cfg.Cutoff, Frontends: []string{s.cfg.Scheduler}}
	for _, f := range a.Template.Files {
		if !s.cfg.Files.Has(f.SHA256) {
			r.Missing = append(r.Missing, f.SHA256)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.memberships {
		for _, f := range m.Frontends {
			if f.Scheduler != "" && f.Scheduler != s.cfg.Scheduler && !slices.Contains(r.Frontends, f.Scheduler) {
				r.Frontends = append(r.Frontends, f.Scheduler)
			}
		}
	}
	return r
}

// PutFile takes a piece of a file that a registered application has announced.
func (s *Service) PutFile(_ context.Context, app, sha256 string, offset int64, data []byte) (have int64, err error) {
	s.mu.Lock()
	a := s.registry.apps[app]
	if a != nil {
		a.lastContact = time.Now()
	}
	s.mu.Unlock()
	if a == nil {
		return 0, &api.Error{Problem: api.NotFound, What: "it is not registered here", Subject: subject(app), Tried: "taking a file of it", Next: "register it first"}
	}
	have, err = s.cfg.Files.Put(sha256, offset, data)
	if err == nil && s.cfg.Files.Has(sha256) {
		s.update(func(b *registry, now time.Time) {
			a.filesReady = s.filesReady(&a.Application)
			b.place(a, now)
		})
	}
	return have, err
}

// FilePiece returns a piece of a file to a node.
func (s *Service) FilePiece(_ context.Context, sha256 string, offset int64, limit int) (wire.Piece, error) {
	data, size, err := s.cfg.Files.Read(sha256, offset, limit)
	return wire.Piece{Data: data, Size: size}, err
}

// Want takes what an application wants now. Executors are not started before its
// files are here.
func (s *Service) Want(_ context.Context, w *api.Wants) (reply api.ApplicationReply, err error) {
	var registered api.Application
	s.update(func(b *registry, now time.Time) {
		var a *application
		if a, err = b.lookup(w.Application, w.Incarnation, now); err != nil {
			return
		}
		registered = a.Application
		a.filesReady = s.filesReady(&a.Application)
		b.want(a, w, s.classOf, now)
	})
	if err != nil {
		return api.ApplicationReply{}, err
	}
	return s.reply(&registered), nil
}

// filesReady reports whether all files of an application are here.
func (s *Service) filesReady(a *api.Application) bool {
	for _, f := range a.Template.Files {
		if !s.cfg.Files.Has(f.SHA256) {
			return false
		}
	}
	return true
}

// classOf finds the class of a level by the rule for jobs (design.md, section 3).
func (s *Service) classOf(l *api.Level) (sched.Class, string) {
	return api.ClassOf(&api.Request{Class: l.Class, Estimate: l.Estimate}, s.cfg.Cutoff, s.cfg.DefaultClass)
}

// News waits until there is something to tell, or the wait is over, which is half
// the lease at most: it renews that.
func (s *Service) News(ctx context.Context, app string, incarnation, version int64, wait time.Duration) (api.News, error) {
	timer := time.NewTimer(min(max(wait, 0), s.cfg.Lease/2))
	defer timer.Stop()
	for over := false; ; {
		s.mu.Lock()
		a, err := s.registry.lookup(app, incarnation, time.Now())
		if err != nil {
			s.mu.Unlock()
			return api.News{}, err
		}
		n := a.updates.since(version)
		wake := a.updates.wake
		s.mu.Unlock()
		if over || n.Version != version {
			return n, nil
		}
		select {
		case <-wake:
		case <-timer.C:
			over = true
		case <-s.done:
			over = true
		case <-ctx.Done():
			return n, nil // who asked is gone
		}
	}
}

// EndApplication ends an application. One that is not here has ended before.
func (s *Service) EndApplication(_ context.Context, app string, incarnation int64) error {
	s.update(func(b *registry, _ time.Time) {
		if a := b.apps[app]; a != nil && a.Incarnation == incarnation {
			s.cfg.Logger.Info("an application has ended", "application", app)
			b.end(a, "it has ended")
		}
	})
	s.trim()
	return nil
}

// trim lets files go that no application needs.
func (s *Service) trim() {
	used := map[string]bool{}
	s.mu.Lock()
	for _, a := range s.registry.apps {
		for _, f := range a.Template.Files {
			used[f.SHA256] = true
		}
	}
	s.mu.Unlock()
	if err := s.cfg.Files.Trim(func(sha string) bool { return used[sha] }); err != nil {
		s.cfg.Logger.Warn("files of applications could not be removed; remove them by hand", "error", err)
	}
}

// TaskEnded takes note of a task of a job that was given: its application and
// level, its key, and whether the grant may have missed the application.
func (s *Service) TaskEnded(app, level, key string, missed bool) {
	s.update(func(b *registry, _ time.Time) { b.taskEnded(app, level, key, missed) })
}

// Serves reports whether an application of that id is here.
func (s *Service) Serves(app string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registry.apps[app] != nil
}
