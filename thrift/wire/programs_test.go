package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// What programs of users do: a backend process and an application.

// RegistryClient calls a node monitor as a backend process of Pigeon does.
type RegistryClient struct{ caller Caller }

var _ BackendRegistry = (*RegistryClient)(nil)

// NewRegistryClient calls the node monitor that the caller's connections lead to.
func NewRegistryClient(c Caller) *RegistryClient { return &RegistryClient{caller: c} }

// Register announces where the backend serves BackendService.
func (r *RegistryClient) Register(ctx context.Context, app, address string, kind BackendKind) error {
	ok, err := invoke(ctx, r.caller, "registering a backend", func(ctx context.Context, c thrift.TClient) (bool, error) {
		return published.NewMasterServiceClient(c).RegisterBackend(ctx, app, address, int32(kind))
	})
	return declined(ok, err, "registering a backend")
}

// TasksFinished reports the end of tasks.
func (r *RegistryClient) TasksFinished(ctx context.Context, tasks []TaskRef, worker string) error {
	return invokeVoid(ctx, r.caller, "reporting finished tasks", func(ctx context.Context, c thrift.TClient) error {
		if at := hostPortTo(worker); at != nil {
			return published.NewMasterServiceClient(c).TaskFinished(ctx, mapped(tasks, taskRefTo), at)
		}
		return published.NewNodeMonitorServiceClient(c).TasksFinished(ctx, mapped(tasks, taskRefTo))
	})
}

// FrontendMessage sends a message to the application.
func (r *RegistryClient) FrontendMessage(ctx context.Context, app string, task TaskRef, status int32, message []byte) error {
	return invokeVoid(ctx, r.caller, "sending a message to the application", func(ctx context.Context, c thrift.TClient) error {
		return published.NewMasterServiceClient(c).SendFrontendMessage(ctx, app, taskRefTo(task), status, message)
	})
}

// LauncherProcessor serves BackendService.
func LauncherProcessor(l Launcher) thrift.TProcessor {
	return published.NewBackendServiceProcessor(launcherHandler{l})
}

type launcherHandler struct{ launcher Launcher }

func (h launcherHandler) LaunchTask(ctx context.Context, message []byte, task *published.TFullTaskId, user *published.TUserGroupInfo) error {
	return h.launcher.LaunchTask(ctx, message, taskRefFrom(task), userFrom(user))
}

// ApplicationProcessor serves FrontendService.
func ApplicationProcessor(a Application) thrift.TProcessor {
	return published.NewFrontendServiceProcessor(applicationHandler{a})
}

type applicationHandler struct{ application Application }

func (h applicationHandler) FrontendMessage(ctx context.Context, task *published.TFullTaskId, status int32, message []byte) error {
	return h.application.FrontendMessage(ctx, taskRefFrom(task), status, message)
}
