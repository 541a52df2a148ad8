package frontend

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/frontend/staging"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxFiles bounds the bytes of applications' files at a frontend, and filesOfUser those of the
// applications of one user, so that others find room.
const (
	maxFiles    = 4 << 30
	filesOfUser = maxFiles / 2
)

// applications is the service for applications that bring their own executors. Its
// address is served before serveApplications sets the service.
//
// An application belongs to who registered it: nobody else wants executors in its name, reads
// its news, or gives it files.
type applications struct {
	*application.Service
	owner   *owner
	staged  *staging.Keeper // files that were sent with jobs
	bounded sync.Map        // names of users whose grants count among what one user may hold
}

var (
	_ wire.ExecutorOwners = (*applications)(nil)
	_ wire.FileKeeper     = (*applications)(nil)
)

// applicationsOfUser bounds the applications that one user has at a frontend, so that others
// find room; the daemons' own user has no such bound.
const applicationsOfUser = 200

// owned returns nil when the caller may do that to an application, or when there is none.
func (s *applications) owned(ctx context.Context, a access.Action, app, tried string) error {
	submitter, served := s.Submitter(app)
	if !served {
		return nil
	}
	return access.About(access.AllowOn(identity.From(ctx), a, submitter), fmt.Sprintf("application %q", app), tried)
}

// RegisterApplication registers an application under the owner that [ownerFor] gives it.
func (s *applications) RegisterApplication(ctx context.Context, a *api.Application) (api.ApplicationReply, error) {
	server.Concerns(ctx, "application "+a.ID)
	p := identity.From(ctx)
	owner, err := ownerFor(ownerClaim{owner: a.Owner, user: a.User}, p, s.owner.ownerUsers())
	if err == nil {
		err = s.owned(ctx, access.RunApplication, a.ID, "registering it")
	}
	if err != nil {
		return api.ApplicationReply{}, err
	}
	a.Owner, a.Submitter = owner, p.Name
	if p.Role == identity.User {
		s.bounded.Store(p.Name, true)
	}
	if p.Role == identity.Superuser {
		return s.Service.RegisterApplication(ctx, a)
	}
	return s.RegisterWithin(a, application.Part{Applications: applicationsOfUser, FileBytes: filesOfUser})
}

// PutFile receives a piece of a file of an application of the caller.
func (s *applications) PutFile(ctx context.Context, app, sha256 string, offset int64, data []byte) (int64, error) {
	if err := s.owned(ctx, access.RunApplication, app, "receiving a file of it"); err != nil {
		return 0, err
	}
	return s.Service.PutFile(ctx, app, sha256, offset, data)
}

// News returns what is new about an application of the caller.
func (s *applications) News(ctx context.Context, app string, incarnation, version int64, wait time.Duration) (api.News, error) {
	if err := s.owned(ctx, access.RunApplication, app, "reading its news"); err != nil {
		return api.News{}, err
	}
	return s.Service.News(ctx, app, incarnation, version, wait)
}

// EndApplication ends an application of the caller, or of anybody for an operator.
func (s *applications) EndApplication(ctx context.Context, app string, incarnation int64) error {
	server.Concerns(ctx, "application "+app)
	if err := s.owned(ctx, access.EndJob, app, "ending it"); err != nil {
		return err
	}
	return s.Service.EndApplication(ctx, app, incarnation)
}

// Want applies what an application wants. A level that names an owner is for that one, as
// far as [ownerFor] allows it, and any other is for the application's.
func (s *applications) Want(ctx context.Context, w *api.Wants) (api.ApplicationReply, error) {
	if err := s.owned(ctx, access.RunApplication, w.Application, "serving it"); err != nil {
		return api.ApplicationReply{}, err
	}
	for i := range w.Levels {
		l := &w.Levels[i]
		if l.Owner == "" {
			continue
		}
		owner, err := ownerFor(ownerClaim{owner: l.Owner}, identity.From(ctx), s.owner.ownerUsers())
		if err != nil {
			return api.ApplicationReply{}, err
		}
		l.Owner = owner
	}
	return s.Service.Want(ctx, w)
}

// serveApplications makes the service for applications that bring their own executors.
// It needs this process's addresses and the masters.
func (f *Frontend) serveApplications() error {
	store, err := filestore.Open(filepath.Join(f.cfg.Data, "files"), maxFiles)
	if err != nil {
		return err
	}
	daemon.WatchFiles(f.metrics.Metrics, daemon.ApplicationFiles, store.Stats)
	// Nodes see each process of this frontend as another frontend, which takes over the
	// executors of the previous one.
	cfg := application.Config{
		Frontend: fmt.Sprintf("%s.%08x", f.cfg.ID, uint32(f.process.Incarnation)), Address: f.process.Internal, Scheduler: f.process.Scheduler, Cutoff: f.cfg.Cutoff, DefaultClass: f.cfg.defaultClass(),
		Lease:   f.cfg.ApplicationLease,
		History: f.history, Files: store, Jobs: f.owner.grants, Dial: f.dialNode, Logger: f.log,
	}
	if f.policy.SingleMaster() {
		cfg.Refusal = fmt.Sprintf("policy %s runs sleep and exec tasks only", f.policy.Name)
	}
	cfg.Memberships = f.owner.dispatch.Memberships()
	f.applications.Service, f.applications.owner = application.New(cfg), f.owner
	if f.web != nil {
		f.web.Handle("GET /applications", telemetry.JSON(f.applicationsFor))
	}
	return nil
}

// applicationsFor returns the applications as the caller may see them.
func (f *Frontend) applicationsFor(ctx context.Context) (any, error) {
	return viewsFor(ctx, f.applications.Views()), nil
}

// viewsFor returns the applications as the caller may see them: of others' only names and
// states, because the titles of levels and the reasons of executors may quote arguments.
func viewsFor(ctx context.Context, views []application.View) []application.View {
	p := identity.From(ctx)
	for i := range views {
		if v := &views[i]; !access.Can(p, access.SeeJob, v.Submitter) {
			*v = application.View{ID: v.ID, Name: v.Name, Owner: v.Owner, Submitter: v.Submitter, State: v.State, Running: v.Running, Executors: []api.ExecutorState{}, Levels: []application.LevelView{}}
		}
	}
	return views
}

// dialNode returns a connection to a node monitor.
func (f *Frontend) dialNode(name, address string) (application.Node, func(), error) {
	pool, err := client.New(client.Options{Name: "node " + name, Address: address, MaxConns: 2, FailFast: true, Closed: f.closed(), MaxFrame: wire.MaxBatchBytes, Security: f.life.To(nodeRef(name))})
	if err != nil {
		return nil, nil, err
	}
	return wire.NewPeerClient(pool, f.codec), func() { _ = pool.Close() }, nil // it has no error
}
