package jobs

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// spans records the frontend's stages: "job", the root of all spans of a job; "reported",
// the receipt of an attempt's report, below the node's "running"; "lost", the loss of an
// attempt without a report, below the job; and under late binding "queued", which
// otherwise the master records. Sampling is decided here, once per job.
type spans struct{ tracing *telemetry.Tracing }

// began starts the span of a job and keeps the context for its tasks. The context is
// written into the submission too: after a restart of the frontend the job continues
// in the same trace, below the span that began it, and sampled or not as it
// was.
func (s *spans) began(j *Job) {
	r := &j.Submission.Request
	ctx, span := s.tracing.Root(context.Background(), telemetry.Carrier(r.Trace), "job")
	if c := span.SpanContext(); c.IsValid() {
		r.Trace = api.Trace{Traceparent: fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags()), Tracestate: c.TraceState().String()}
	}
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("job", r.Key), attribute.String("app", r.App), attribute.String("class", j.Submission.Class.String()), attribute.Int("tasks", len(r.Tasks)))
	span.SetAttributes(j.ownerAttributes()...)
	j.trace.began = time.Now()
	j.trace.carrier = api.Trace(telemetry.Inject(ctx))
	j.trace.end = func(st api.Status) {
		span.SetAttributes(attribute.String("state", string(st.State)), attribute.Int("attempts", st.Attempts))
		if st.State != api.StateCompleted {
			span.SetStatus(codes.Error, string(st.State)) // its reason may quote arguments and outputs
		}
		span.End()
	}
}

func (j *Job) ownerAttributes() []attribute.KeyValue {
	return telemetry.OwnerAttributes(j.Status.Owner, j.Status.Priority)
}

// bound records the stage of a task that no master queues, "queued", from the
// beginning of its job's span, or of this attempt, to the launch. It returns the context
// that makes it the parent of the attempt's other spans.
func (s *spans) bound(j *Job, m *sched.Message, at wire.Ref) api.Trace {
	parent := telemetry.Carrier(j.trace.carrier)
	if !parent.Sampled() {
		return j.trace.carrier
	}
	since, retried := j.trace.retries[m.First]
	if !retried {
		since = j.trace.began
	}
	ctx, span := s.tracing.Start(parent.Context(context.Background()), "queued",
		trace.WithTimestamp(since),
		trace.WithAttributes(attribute.String("job", j.Status.Job), attribute.Int("task", int(m.First)), attribute.Int("attempt", int(m.Attempt)),
			attribute.String("class", j.Submission.Class.String()), attribute.String("node", at.Name), attribute.Int("slot", int(at.Slot))),
		trace.WithAttributes(j.ownerAttributes()...))
	defer span.End()
	return api.Trace(telemetry.Inject(ctx))
}

// reported records the receipt of a report that ended an attempt.
func (s *spans) reported(j *Job, it *wire.Item) {
	if j.trace.end != nil {
		s.mark(it.Trace, "reported", j, &it.Msg)
	}
}

// retried records why a task has a new attempt: the report of the previous one, or
// its loss without a report; before is the number of the previous one.
func (s *spans) retried(j *Job, it *wire.Item, m *sched.Message, task, before int32) {
	if j.trace.end == nil {
		return
	}
	if j.trace.retries == nil {
		j.trace.retries = map[int32]time.Time{}
	}
	j.trace.retries[task] = time.Now()
	if it != nil {
		s.mark(it.Trace, "reported", j, &it.Msg)
		return
	}
	lost := *m
	lost.First, lost.Attempt = task, before
	s.mark(j.trace.carrier, "lost", j, &lost)
}

// mark records a span without a duration.
func (s *spans) mark(parent api.Trace, name string, j *Job, m *sched.Message) {
	_, span := s.tracing.Start(telemetry.Carrier(parent).Context(context.Background()), name,
		trace.WithAttributes(attribute.String("job", j.Status.Job), attribute.Int("task", int(m.First)),
			attribute.Int("attempt", int(m.Attempt)), attribute.String("outcome", m.Outcome.String())),
		trace.WithAttributes(j.ownerAttributes()...))
	if m.Outcome != sched.Done {
		span.SetStatus(codes.Error, m.Outcome.String()) // as for the job
	}
	span.End()
}

// ended ends the span of a job.
func (s *spans) ended(j *Job) {
	if j.trace.end != nil {
		j.trace.end(j.Status)
		j.trace.end = nil
	}
}
