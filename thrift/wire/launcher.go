package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// Launcher is a backend process: it starts tasks of its application.
type Launcher interface {
	// LaunchTask starts a task and returns at once. The message is the
	// application's; an empty one grants the slot and names no task.
	LaunchTask(ctx context.Context, message []byte, task TaskRef, user User) error
}

// BackendClient calls a backend process.
type BackendClient struct{ caller Caller }

var _ Launcher = (*BackendClient)(nil)

// NewBackendClient calls the backend that the caller's connections lead to.
func NewBackendClient(c Caller) *BackendClient { return &BackendClient{caller: c} }

// LaunchTask hands a task to the backend.
func (b *BackendClient) LaunchTask(ctx context.Context, message []byte, task TaskRef, user User) error {
	if message == nil {
		message = []byte{} // clients that wrap it in a buffer fail on a missing one
	}
	return invokeVoid(ctx, b.caller, "launching a task at its backend", func(ctx context.Context, c thrift.TClient) error {
		return published.NewBackendServiceClient(c).LaunchTask(ctx, message, taskRefTo(task), userTo(user))
	})
}
