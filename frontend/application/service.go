package application

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/usage"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Jobs is what the service needs of its frontend. Calls return at once and become
// effective later, in their order.
type Jobs interface {
	// Submit enters a job. The service's TaskEnded is called for each of its tasks.
	Submit(Job)
	// Cancel cancels the last tasks of a job that have not ended, all of them when
	// tasks is 0. TaskEnded is not called for them. A job that has ended is left as it
	// is.
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
	Lease        time.Duration // an application that is silent for so long has ended; 0 for 15 s
	Refusal      string        // why no application is served, "" when they are
	Files        *filestore.Store
	Jobs         Jobs
	Memberships  []wire.MembershipSource // of all masters
	History      *usage.Keeper           // receives what an application used that is not served here any more; nil: none does
	// Dial returns a client of a node monitor and what closes it.
	Dial   func(name, address string) (Node, func(), error)
	Logger *slog.Logger
}

// Service serves applications with executors. Run does what the passing of time
// requires, and follows each master's membership and each node in a separate goroutine,
// from the first application until Run ends.
type Service struct {
	cfg   Config
	first chan struct{} // closed with the first application
	done  chan struct{} // closed when the context of Run is done

	mu          sync.Mutex // not held during a call of Files, which may wait for the disk
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

// New returns a service without applications.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Lease == 0 {
		cfg.Lease = 15 * time.Second
	}
	reg := newRegistry(cfg.Frontend, cfg.Address, cfg.Lease)
	reg.groups = len(cfg.Memberships)
	return &Service{cfg: cfg, first: make(chan struct{}), done: make(chan struct{}), registry: reg, memberships: make([]wire.Membership, len(cfg.Memberships))}
}

// update changes the registry and then carries out the effects. When an application was
// removed, that includes the removal of its files, which waits for the disk.
func (s *Service) update(change func(reg *registry, now time.Time)) {
	if removed := s.apply(change); len(removed) > 0 {
		s.tidy(removed)
	}
}

// apply changes the registry and carries out the effects, but for the applications that
// were removed, which it returns. Jobs are submitted and cancelled under the lock, so that
// their order is that of the changes.
func (s *Service) apply(change func(reg *registry, now time.Time)) (removed []*application) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.registry, time.Now())
	e := &s.registry.effects
	for _, c := range e.withdraw {
		s.cfg.Jobs.Cancel(c.key, c.tasks)
	}
	for _, j := range e.submit {
		s.cfg.Jobs.Submit(j)
	}
	for name := range e.orders {
		if n := s.registry.nodes[name]; n != nil {
			select {
			case n.wake <- struct{}{}:
			default: // it has been woken already
			}
		}
	}
	removed = e.removed
	for _, u := range e.ended {
		s.ended(u)
	}
	e.withdraw, e.submit, e.removed, e.ended = nil, nil, nil, nil
	clear(e.orders)
	return removed
}

// News returns what has changed since the version, after a wait for a change, which
// lasts at most half of the lease. A call renews the lease.
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
			return n, nil // the caller has given up
		}
	}
}

// TaskEnded records the end of a task of a job that was submitted: its application
// and level, its key, and whether the grant may not have reached the application. It waits
// for no disk: the owner goroutine of the frontend calls it.
func (s *Service) TaskEnded(app, level, key string, missed bool) {
	s.update(func(reg *registry, _ time.Time) { reg.taskEnded(app, level, key, missed) })
}

// ended passes on what an application used.
func (s *Service) ended(u *api.JobUsage) {
	s.cfg.History.Add(u)
}
