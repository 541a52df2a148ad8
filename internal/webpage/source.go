package webpage

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Source returns the state of a cluster; a frontend is one. Its answers are for a principal that
// may see everything: this package decides what a viewer sees of them.
type Source interface {
	// Nodes returns every group with its nodes.
	Nodes(ctx context.Context) ([]api.MasterState, error)
	// List returns the newest jobs first, at most limit, after a job unless that is "".
	List(ctx context.Context, limit int, after string) ([]api.Status, error)
	Status(ctx context.Context, job string) (api.Status, error)
	Explain(ctx context.Context, job string) (*api.Explanation, error)
	TaskLog(ctx context.Context, r wire.LogRequest) (wire.LogChunk, error)
	// Shares returns how slots are shared, as the caller in the context may see it.
	Shares(ctx context.Context) (api.OwnerShares, error)
}

// Place is a source with the name under which the page shows it: that of a frontend.
type Place struct {
	Name string
	Source
	// Remote is set when the source does not know who the viewer is, so that it filters nothing.
	Remote bool
	// Applications returns those that are registered with the frontend, as JSON shows them and the
	// caller in the context may see them; nil where none are shown.
	Applications func(ctx context.Context) (any, error)
}
