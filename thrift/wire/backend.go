package wire

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// BackendKind states which slots a backend process brings.
type BackendKind int32

// The kinds, numbered as registerBackend does. General and Reserved are the
// published ones: one slot of the backend's own. Resident brings none and may be
// given a task in every free slot of its node.
const (
	GeneralBackend BackendKind = iota
	ReservedBackend
	ResidentBackend
)

// BackendRegistry is the port that a node monitor offers to backend processes, both
// Pigeon's and Sparrow's.
type BackendRegistry interface {
	// Register stores where a backend serves BackendService. The address is as
	// [ParseAddress] returns it. A repetition is no error.
	Register(ctx context.Context, app, address string, kind BackendKind) error
	// TasksFinished frees the slots of tasks. worker is the address the backend
	// registered, or "" from Sparrow's, which do not send it.
	TasksFinished(ctx context.Context, tasks []TaskRef, worker string) error
	MessageRelay
}

// BackendProcessor serves MasterService and NodeMonitorService at once.
func BackendProcessor(r BackendRegistry) thrift.TProcessor {
	return published.NewNodeMonitorServiceProcessor(backendHandler{r})
}

// backendHandler serves methods that declare no exception: a refusal becomes the
// library's own, with the whole text.
type backendHandler struct{ registry BackendRegistry }

func (h backendHandler) RegisterBackend(ctx context.Context, app, listenSocket string, kind int32) (bool, error) {
	address, err := ParseAddress(listenSocket)
	if err == nil && (kind < int32(GeneralBackend) || kind > int32(ResidentBackend)) {
		err = badKind(app, kind)
	}
	if err == nil {
		err = h.registry.Register(ctx, app, address, BackendKind(kind))
	}
	return err == nil, bounded(err)
}

func (h backendHandler) TaskFinished(ctx context.Context, tasks []*published.TFullTaskId, worker *published.THostPort) error {
	address, err := hostPortFrom(worker)
	if err != nil {
		return err
	}
	return bounded(h.registry.TasksFinished(ctx, mapped(tasks, taskRefFrom), address))
}

func (h backendHandler) TasksFinished(ctx context.Context, tasks []*published.TFullTaskId) error {
	return bounded(h.registry.TasksFinished(ctx, mapped(tasks, taskRefFrom), ""))
}

func (h backendHandler) SendFrontendMessage(ctx context.Context, app string, task *published.TFullTaskId, status int32, message []byte) error {
	return bounded(h.registry.FrontendMessage(ctx, app, taskRefFrom(task), status, message))
}
