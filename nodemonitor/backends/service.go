package backends

import (
	"context"
	"fmt"
	"net"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/lookup"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Service is the published service for backend processes. A user's backends run the tasks of
// that user's applications only (see [api.ScopedApp]).
type Service struct {
	set *Set
	wire.MessageRelay
}

var _ wire.BackendRegistry = Service{}

// Service returns the published service.
func (s *Set) Service() Service { return Service{s, s.messages} }

// Register adds a backend process, under a policy that can run tasks in it.
func (b Service) Register(ctx context.Context, application, address string, kind wire.BackendKind) error {
	application = api.ScopedApp(access.AppScope(identity.From(ctx)), application)
	if cfg := &b.set.cfg; cfg.NoProcesses {
		return &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("policy %s runs sleep and exec tasks only", cfg.Policy),
			Subject: fmt.Sprintf("backend %s of application %q", address, application), Tried: fmt.Sprintf("registering it with node %q", cfg.Node),
			Next: "run the cluster under policy pigeon, pigeon-sort or pigeon-x",
		}
	}
	if err := lookup.Hosts(net.DefaultResolver.LookupHost).CheckNamed(ctx, address); err != nil {
		return err
	}
	return b.set.registry.Register(application, address, app.Kind(kind))
}

// TasksFinished ends tasks that ran in a backend process.
func (b Service) TasksFinished(ctx context.Context, tasks []wire.TaskRef, worker string) error {
	refs, scope := make([]app.TaskRef, len(tasks)), access.AppScope(identity.From(ctx))
	for i, t := range tasks {
		refs[i] = app.TaskRef{Job: t.Job, Task: t.Task, App: api.ScopedApp(scope, t.App), Scope: scope, Frontend: t.Scheduler}
	}
	return b.set.registry.Finished(ctx, worker, refs)
}
