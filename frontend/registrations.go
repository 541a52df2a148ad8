package frontend

import (
	"context"
	"net"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/lookup"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// RegisterFrontend registers where an application listens for messages. It returns when
// the registration is on the disk, so that it survives a restart.
func (srv *schedulerService) RegisterFrontend(ctx context.Context, app, address string) error {
	app = appOf(identity.From(ctx), app)
	if what, next := api.AppFault(app); what != "" {
		return badName(app, address, what, next)
	}
	server.Concerns(ctx, "application "+app)
	if err := lookup.Hosts(net.DefaultResolver.LookupHost).CheckNamed(ctx, address); err != nil {
		return err
	}
	done := make(chan error, 1)
	if err := srv.register(app, address, func(err error) { done <- err }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return registeredLate(app)
	}
}

// register sets where an application listens, and has the journal keep it; done is called when it is on the
// disk. The journal has registrations in the order in which they take effect.
func (srv *schedulerService) register(app, address string, done func(error)) error {
	srv.registering.Lock()
	defer srv.registering.Unlock()
	evicted, err := srv.listeners.Register(app, address)
	if err != nil {
		return err
	}
	records := []journal.Record{{Kind: journal.AppAt, App: app, Socket: address}}
	if evicted != "" {
		records = append(records, journal.Record{Kind: journal.AppAt, App: evicted})
	}
	return srv.journal.Append(records, done)
}

// FrontendMessage queues a backend's message for its application. A node monitor has
// named the application with its user.
func (srv *schedulerService) FrontendMessage(ctx context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	return srv.listeners.Send(appOf(identity.From(ctx), app), listeners.Message{Task: task, Status: status, Body: message})
}
