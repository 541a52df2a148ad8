package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// Application is a program that submits jobs and receives messages about its tasks.
type Application interface {
	// FrontendMessage delivers a backend's message about a task, or the end of a
	// task in a built-in backend: status 0 done, 1 failed.
	FrontendMessage(ctx context.Context, task TaskRef, status int32, message []byte) error
}

// FrontendClient calls an application.
type FrontendClient struct{ caller Caller }

var _ Application = (*FrontendClient)(nil)

// NewFrontendClient calls the application that the caller's connections lead to.
func NewFrontendClient(c Caller) *FrontendClient { return &FrontendClient{caller: c} }

// FrontendMessage sends the application a message about a task.
func (f *FrontendClient) FrontendMessage(ctx context.Context, task TaskRef, status int32, message []byte) error {
	if message == nil {
		message = []byte{}
	}
	return invokeVoid(ctx, f.caller, "sending the application a message about a task", func(ctx context.Context, c thrift.TClient) error {
		return published.NewFrontendServiceClient(c).FrontendMessage(ctx, taskRefTo(task), status, message)
	})
}
