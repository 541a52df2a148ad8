package wire

import (
	"context"
	"errors"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/gen/published"
)

// SchedulerClient calls a frontend.
type SchedulerClient struct{ caller Caller }

var _ Scheduler = (*SchedulerClient)(nil)

// NewSchedulerClient calls the frontend that the caller's connections lead to.
func NewSchedulerClient(c Caller) *SchedulerClient { return &SchedulerClient{caller: c} }

// Ping checks that the frontend answers, as a published client does.
func (s *SchedulerClient) Ping(ctx context.Context) error {
	return invokeVoid(ctx, s.caller, "pinging the frontend", func(ctx context.Context, c thrift.TClient) error {
		return published.NewSchedulerServiceClient(c).SubmitJob(ctx, &published.TSchedulingRequest{})
	})
}

// Submit submits a job. The rest of the context's time travels with it.
func (s *SchedulerClient) Submit(ctx context.Context, r *api.Request) (id string, duplicate bool, err error) {
	return s.submit(ctx, requestTo(r))
}

// SubmitShared is Submit to a frontend that knows the process that tasks share, which then is sent once.
func (s *SchedulerClient) SubmitShared(ctx context.Context, r *api.Request) (id string, duplicate bool, err error) {
	req := requestTo(r)
	if len(r.Tasks) > 0 {
		share(req, r)
	}
	return s.submit(ctx, req)
}

func (s *SchedulerClient) submit(ctx context.Context, req *published.TSchedulingRequest) (id string, duplicate bool, err error) {
	reply, err := invoke(ctx, s.caller, "submitting a job", func(ctx context.Context, c thrift.TClient) (*published.TSubmitReply, error) {
		if until, ok := ctx.Deadline(); ok {
			req.DeadlineNanos = max(int64(time.Until(until)), 1)
		}
		return published.NewSchedulerServiceClient(c).Submit(ctx, req)
	})
	if err != nil {
		return "", false, err
	}
	return reply.JobId, reply.Duplicate, nil
}

// List returns a page of the jobs, the newest first.
func (s *SchedulerClient) List(ctx context.Context, limit int, after string) ([]api.Status, error) {
	return s.Query(ctx, limit, after, api.JobFilter{})
}

// Query returns a page of the jobs that match the filter, the newest first. A frontend of an
// earlier version returns the others too.
func (s *SchedulerClient) Query(ctx context.Context, limit int, after string, filter api.JobFilter) ([]api.Status, error) {
	t, err := invoke(ctx, s.caller, "listing jobs", func(ctx context.Context, c thrift.TClient) ([]*published.TJobStatus, error) {
		return published.NewSchedulerServiceClient(c).ListJobs(ctx, n32(limit), after, jobFilterTo(filter))
	})
	return mapped(t, statusFrom), err
}

// RegisterFrontend announces where the application serves FrontendService.
func (s *SchedulerClient) RegisterFrontend(ctx context.Context, app, address string) error {
	ok, err := invoke(ctx, s.caller, "registering an application", func(ctx context.Context, c thrift.TClient) (bool, error) {
		return published.NewSchedulerServiceClient(c).RegisterFrontend(ctx, app, address)
	})
	return declined(ok, err, "registering an application")
}

// FrontendMessage hands a backend's message to the frontend of its application. A frontend of an earlier
// version, and a listener for published clients only, do not serve relayMessage, and answer it by an
// exception that it does not declare. They get the message by the published method, whose refusals are all
// of the kind Internal.
func (s *SchedulerClient) FrontendMessage(ctx context.Context, app string, task TaskRef, status int32, message []byte) error {
	const tried = "relaying a backend's message"
	t := taskRefTo(task)
	err := s.caller.Do(ctx, func(ctx context.Context, c thrift.TClient) error {
		return published.NewSchedulerServiceClient(c).RelayMessage(ctx, app, t, status, message)
	})
	switch {
	case err == nil:
		return nil
	case !isUndeclared(err):
		return callError(err, tried)
	}
	return invokeVoid(ctx, s.caller, tried, func(ctx context.Context, c thrift.TClient) error {
		return published.NewSchedulerServiceClient(c).SendFrontendMessage(ctx, app, t, status, message)
	})
}

// isUndeclared reports whether a call was answered by the exception that every method may throw.
func isUndeclared(err error) bool {
	if _, unanswered := errors.AsType[*api.Error](err); unanswered {
		return false
	}
	_, undeclared := errors.AsType[thrift.TApplicationException](err)
	return undeclared
}
