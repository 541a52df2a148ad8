package frontend

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/pigeon-sched/pigeon/frontend/application"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxFiles bounds the bytes of applications' files at a frontend.
const maxFiles = 4 << 30

// applications is the service for applications that bring their own executors. Its
// address is served before serveApplications sets the service.
type applications struct{ *application.Service }

var (
	_ wire.ExecutorOwners = (*applications)(nil)
	_ wire.FileKeeper     = (*applications)(nil)
)

// RegisterApplication registers an application under the owner that [ownerFor] gives it.
func (s *applications) RegisterApplication(ctx context.Context, a *api.Application) (api.ApplicationReply, error) {
	owner, err := ownerFor(said{owner: a.Owner, user: a.User}, proven{})
	if err != nil {
		return api.ApplicationReply{}, err
	}
	a.Owner = owner
	return s.Service.RegisterApplication(ctx, a)
}

// Want applies what an application wants. A level that names an owner is for that one, as
// far as [ownerFor] allows it, and any other is for the application's.
func (s *applications) Want(ctx context.Context, w *api.Wants) (api.ApplicationReply, error) {
	for i := range w.Levels {
		l := &w.Levels[i]
		owner, err := ownerFor(said{owner: l.Owner}, proven{})
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
	store, err := files.Open(filepath.Join(f.cfg.Data, "files"), maxFiles)
	if err != nil {
		return err
	}
	f.metrics.watchFiles(store.Stats)
	// Nodes see each process of this frontend as another frontend, which takes over the
	// executors of the previous one.
	cfg := application.Config{
		Frontend: fmt.Sprintf("%s.%08x", f.cfg.ID, uint32(f.process.Incarnation)), Address: f.process.Internal, Scheduler: f.process.Scheduler, Cutoff: f.cfg.Cutoff, DefaultClass: f.cfg.defaultClass(),
		Lease: f.cfg.ApplicationLease,
		Files: store, Jobs: f.owner.grants, Dial: f.dialNode, Logger: f.log,
	}
	if f.policy.SingleMaster() {
		cfg.Refusal = fmt.Sprintf("policy %s runs sleep and exec tasks only", f.policy.Name)
	}
	cfg.Memberships = f.owner.dispatch.Memberships()
	f.applications.Service = application.New(cfg)
	f.owner.grants.taskEnded = f.applications.TaskEnded
	if f.web != nil {
		f.web.Handle("GET /applications", telemetry.JSON(func(context.Context) (any, error) { return f.applications.Views(), nil }))
	}
	return nil
}

// dialNode returns a connection to a node monitor.
func (f *Frontend) dialNode(name, address string) (application.Node, func(), error) {
	pool, err := client.New(client.Options{Name: "node " + name, Address: address, MaxConns: 2, FailFast: true, Closed: f.closed(), MaxFrame: wire.MaxBatchBytes, Security: f.life.To(nodeRef(name))})
	if err != nil {
		return nil, nil, err
	}
	return wire.NewPeerClient(pool, f.codec), func() { _ = pool.Close() }, nil // it has no error
}
