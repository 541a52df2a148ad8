package wire

import (
	"context"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/application"
)

// ExecutorOwners is the port that a frontend offers to applications with their own
// executors (application.thrift).
type ExecutorOwners interface {
	// RegisterApplication registers an application, or takes it over with its
	// executors from another frontend.
	RegisterApplication(ctx context.Context, a *api.Application) (api.ApplicationReply, error)
	// PutFile appends a piece to a file and returns how many bytes have arrived.
	PutFile(ctx context.Context, app, sha256 string, offset int64, data []byte) (int64, error)
	Want(ctx context.Context, w *api.Wants) (api.ApplicationReply, error)
	// News answers when there is news after the version, or when the wait is over.
	News(ctx context.Context, app string, incarnation, version int64, wait time.Duration) (api.News, error)
	EndApplication(ctx context.Context, app string, incarnation int64) error
}

// WithApplications serves ApplicationService in addition to the methods of p.
func WithApplications(p thrift.TProcessor, o ExecutorOwners) thrift.TProcessor {
	return withMethodsOf(p, application.NewApplicationServiceProcessor(ownersHandler{o}))
}

// withMethodsOf serves the methods of both.
func withMethodsOf(p, more thrift.TProcessor) thrift.TProcessor {
	for name, f := range more.ProcessorMap() {
		p.AddToProcessorMap(name, f)
	}
	return p
}

type ownersHandler struct{ owners ExecutorOwners }

func (h ownersHandler) RegisterApplication(ctx context.Context, t *application.TApplication) (*application.TApplicationReply, error) {
	a := applicationFrom(t)
	if err := a.Validate(); err != nil {
		return nil, refusal(err)
	}
	r, err := h.owners.RegisterApplication(ctx, &a)
	return applicationReplyTo(r), refusal(err)
}

func (h ownersHandler) PutFile(ctx context.Context, app, sha256 string, offset int64, data []byte) (int64, error) {
	n, err := h.owners.PutFile(ctx, app, sha256, offset, data)
	return n, refusal(err)
}

func (h ownersHandler) Want(ctx context.Context, t *application.TWants) (*application.TApplicationReply, error) {
	w := wantsFrom(t)
	if err := w.Validate(); err != nil {
		return nil, refusal(err)
	}
	r, err := h.owners.Want(ctx, &w)
	return applicationReplyTo(r), refusal(err)
}

// ApplicationClient calls a frontend as an application with executors does.
type ApplicationClient struct{ caller Caller }

var _ ExecutorOwners = (*ApplicationClient)(nil)

// NewApplicationClient calls the frontend that the caller's connections lead to.
func NewApplicationClient(c Caller) *ApplicationClient { return &ApplicationClient{caller: c} }

// PutFile sends a piece of a file.
func (c *ApplicationClient) PutFile(ctx context.Context, app, sha256 string, offset int64, data []byte) (int64, error) {
	if data == nil {
		data = []byte{}
	}
	return invoke(ctx, c.caller, "sending a file of an application", func(ctx context.Context, c thrift.TClient) (int64, error) {
		return application.NewApplicationServiceClient(c).PutFile(ctx, app, sha256, offset, data)
	})
}
