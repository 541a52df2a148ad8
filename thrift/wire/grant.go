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

// GrantClient calls a node monitor as an executor does.
type GrantClient struct{ caller Caller }

var _ Granter = (*GrantClient)(nil)

// NewGrantClient calls the node monitor that the caller's connections lead to.
func NewGrantClient(c Caller) *GrantClient { return &GrantClient{caller: c} }
