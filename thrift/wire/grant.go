package wire

import (
	"context"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/application"
)

// ExecutorID identifies an executor by the values that its node monitor passed to it at
// its start.
type ExecutorID struct{ Application, Executor, Token string }

// Granter is the port that a node monitor offers to the executors that it started.
type Granter interface {
	// AttachExecutor announces that the executor accepts grants, at most slots at once.
	AttachExecutor(ctx context.Context, e ExecutorID, slots int) error
	// AwaitGrants answers when there are grants later than after, or when the wait
	// is over.
	AwaitGrants(ctx context.Context, e ExecutorID, after int64, wait time.Duration) (api.Grants, error)
	// EndGrants frees slots. It is idempotent.
	EndGrants(ctx context.Context, e ExecutorID, ends []api.GrantEnd) error
}

// WithGrants serves ExecutorService in addition to the methods of p.
func WithGrants(p thrift.TProcessor, g Granter) thrift.TProcessor {
	return withMethodsOf(p, application.NewExecutorServiceProcessor(granterHandler{g}))
}

type granterHandler struct{ granter Granter }

func (h granterHandler) AttachExecutor(ctx context.Context, app, executor, token string, slots int32) error {
	return refusal(h.granter.AttachExecutor(ctx, ExecutorID{app, executor, token}, int(slots)))
}

func (h granterHandler) AwaitGrants(ctx context.Context, app, executor, token string, after int64, waitMillis int32) (*application.TGrants, error) {
	g, err := h.granter.AwaitGrants(ctx, ExecutorID{app, executor, token}, after, time.Duration(waitMillis)*time.Millisecond)
	return grantsTo(g), refusal(err)
}

func (h granterHandler) EndGrants(ctx context.Context, app, executor, token string, ends []*application.TGrantEnd) error {
	return refusal(h.granter.EndGrants(ctx, ExecutorID{app, executor, token}, mapped(ends, grantEndFrom)))
}

// GrantClient calls a node monitor as an executor does.
type GrantClient struct{ caller Caller }

var _ Granter = (*GrantClient)(nil)

// NewGrantClient calls the node monitor that the caller's connections lead to.
func NewGrantClient(c Caller) *GrantClient { return &GrantClient{caller: c} }

// AttachExecutor announces that the executor accepts grants.
func (g *GrantClient) AttachExecutor(ctx context.Context, e ExecutorID, slots int) error {
	return invokeVoid(ctx, g.caller, "attaching an executor", func(ctx context.Context, c thrift.TClient) error {
		return application.NewExecutorServiceClient(c).AttachExecutor(ctx, e.Application, e.Executor, e.Token, n32(slots))
	})
}

// AwaitGrants waits for grants.
func (g *GrantClient) AwaitGrants(ctx context.Context, e ExecutorID, after int64, wait time.Duration) (api.Grants, error) {
	t, err := invoke(ctx, g.caller, "waiting for grants", func(ctx context.Context, c thrift.TClient) (*application.TGrants, error) {
		return application.NewExecutorServiceClient(c).AwaitGrants(ctx, e.Application, e.Executor, e.Token, after, millis32(wait))
	})
	return grantsFrom(t), err
}

// EndGrants frees slots.
func (g *GrantClient) EndGrants(ctx context.Context, e ExecutorID, ends []api.GrantEnd) error {
	return invokeVoid(ctx, g.caller, "ending grants", func(ctx context.Context, c thrift.TClient) error {
		return application.NewExecutorServiceClient(c).EndGrants(ctx, e.Application, e.Executor, e.Token, mapped(ends, grantEndTo))
	})
}
