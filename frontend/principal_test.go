package frontend

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// asPrincipal calls a service as the Thrift server does for a connection of that principal.
type asPrincipal struct {
	wire.Scheduler
	p identity.Principal
}

func (s asPrincipal) with(ctx context.Context) context.Context { return identity.With(ctx, s.p) }

func (s asPrincipal) Submit(ctx context.Context, r *api.Request) (id string, duplicate bool, err error) {
	return s.Scheduler.Submit(s.with(ctx), r)
}

func (s asPrincipal) Cancel(ctx context.Context, job string) (api.Status, error) {
	return s.Scheduler.Cancel(s.with(ctx), job)
}

func (s asPrincipal) Status(ctx context.Context, job string) (api.Status, error) {
	return s.Scheduler.Status(s.with(ctx), job)
}

func (s asPrincipal) Query(ctx context.Context, limit int, after string, filter api.JobFilter) ([]api.Status, error) {
	return s.Scheduler.Query(s.with(ctx), limit, after, filter)
}

func (s asPrincipal) Wait(ctx context.Context, job string, timeout time.Duration) (api.Status, error) {
	return s.Scheduler.Wait(s.with(ctx), job, timeout)
}

func (s asPrincipal) Explain(ctx context.Context, job string) (*api.Explanation, error) {
	return s.Scheduler.Explain(s.with(ctx), job)
}

func (s asPrincipal) TaskLog(ctx context.Context, r wire.LogRequest) (wire.LogChunk, error) {
	return s.Scheduler.TaskLog(s.with(ctx), r)
}

func (s asPrincipal) History(ctx context.Context, q api.HistoryQuery) (api.HistoryPage, error) {
	return s.Scheduler.History(s.with(ctx), q)
}

func (s asPrincipal) Events(ctx context.Context, q api.EventQuery) (api.EventPage, error) {
	return s.Scheduler.Events(s.with(ctx), q)
}

func (s asPrincipal) Shares(ctx context.Context) (api.OwnerShares, error) {
	return s.Scheduler.Shares(s.with(ctx))
}

func (s asPrincipal) RegisterFrontend(ctx context.Context, app, address string) error {
	return s.Scheduler.RegisterFrontend(s.with(ctx), app, address)
}

func (s asPrincipal) FrontendMessage(ctx context.Context, app string, task wire.TaskRef, status int32, message []byte) error {
	return s.Scheduler.FrontendMessage(s.with(ctx), app, task, status, message)
}
