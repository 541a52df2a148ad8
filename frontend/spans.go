package frontend

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// spans records the frontend's stages: "job", the root of everything that
// happens to a job, and "reported", the acceptance of a task's result, below the
// node's "running". Sampling is decided here, once per job.
type spans struct{ tracing *telemetry.Tracing }

// began starts the span of a job and keeps what its tasks carry.
func (s *spans) began(j *job) {
	r := &j.sub.Request
	ctx, span := s.tracing.Root(context.Background(), telemetry.Carrier(r.Trace), "job")
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("job", r.Key), attribute.String("app", r.App), attribute.String("class", j.sub.Class.String()), attribute.Int("tasks", len(r.Tasks)))
	j.trace.carrier = api.Trace(telemetry.Inject(ctx))
	j.trace.end = func(st api.Status) {
		span.SetAttributes(attribute.String("state", string(st.State)), attribute.Int("attempts", st.Attempts))
		if st.State != api.StateCompleted {
			span.SetStatus(codes.Error, st.Reason)
		}
		span.End()
	}
}

// reported records the acceptance of a result.
func (s *spans) reported(j *job, it *wire.Item) {
	if j.trace.end == nil {
		return
	}
	_, span := s.tracing.Start(telemetry.Carrier(it.Trace).Context(context.Background()), "reported",
		trace.WithAttributes(attribute.String("job", j.status.Job), attribute.Int("task", int(it.Msg.First)),
			attribute.Int("attempt", int(it.Msg.Attempt)), attribute.String("outcome", it.Msg.Outcome.String())))
	span.End()
}

// ended ends the span of a job.
func (s *spans) ended(j *job) {
	if j.trace.end != nil {
		j.trace.end(j.status)
		j.trace.end = nil
	}
}
