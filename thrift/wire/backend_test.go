package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

func TestRegistryClient(t *testing.T) {
	fake, ctx := &fakeBackends{}, context.Background()
	srv := servertest.Start(t, wire.BackendProcessor(fake), server.Options{})
	c := wire.NewRegistryClient(pool(t, srv.Addr().String()))
	must(t,
		c.Register(ctx, "app", "127.0.0.1:9", wire.ResidentBackend),
		c.TasksFinished(ctx, []wire.TaskRef{pigeonRef}, "127.0.0.1:9"),
		c.TasksFinished(ctx, []wire.TaskRef{pigeonRef}, ""),
		c.FrontendMessage(ctx, "app", pigeonRef, 4, []byte("m")),
	)
	equal(t, "calls", fake.calls(), []string{
		"register app at 127.0.0.1:9 kind 2",
		fmt.Sprintf(`finished %+v by "127.0.0.1:9"`, []wire.TaskRef{pigeonRef}),
		fmt.Sprintf(`finished %+v by ""`, []wire.TaskRef{pigeonRef}),
		fmt.Sprintf(`message app="app" %+v status=4 "m"`, pigeonRef),
	})
	if err := c.Register(ctx, "app", "nowhere", wire.GeneralBackend); err == nil || !strings.Contains(err.Error(), "it has no port") {
		t.Errorf("the reason is lost: %v", err)
	}
}

// fakeProgram is an application and its backend in one.
type fakeProgram struct{ record }

func (p *fakeProgram) LaunchTask(_ context.Context, message []byte, task wire.TaskRef, user wire.User) error {
	return p.note("launch %q %+v for %+v", message, task, user)
}

func (p *fakeProgram) FrontendMessage(_ context.Context, task wire.TaskRef, status int32, message []byte) error {
	return p.note("message %+v status=%d %q", task, status, message)
}

// An application and a backend in Go, over our own ends.
func TestApplicationAndBackend(t *testing.T) {
	fake, ctx := &fakeProgram{}, context.Background()
	backend := servertest.Start(t, wire.LauncherProcessor(fake), server.Options{})
	application := servertest.Start(t, wire.ApplicationProcessor(fake), server.Options{})
	must(t,
		wire.NewBackendClient(pool(t, backend.Addr().String())).LaunchTask(ctx, []byte("m"), pigeonRef, wire.User{Name: "ada", Group: "users", Priority: 3}),
		wire.NewFrontendClient(pool(t, application.Addr().String())).FrontendMessage(ctx, sparrowRef, 3, []byte("n")),
	)
	equal(t, "calls", fake.calls(), []string{
		fmt.Sprintf(`launch "m" %+v for {Name:ada Group:users Priority:3}`, pigeonRef), fmt.Sprintf(`message %+v status=3 "n"`, sparrowRef),
	})
}
