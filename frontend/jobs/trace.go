package jobs

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// spans records the frontend's stages: "job", the root of all spans of a job; below it
// "reported", the receipt of an attempt's report, "lost", the loss of an attempt without a
// report, and under late binding "queued"; otherwise the master records that. Sampling is
// decided here, once per job.
//
// All stages of all daemons are below "job", except "running", which its node records
// together with "launched" above it: whichever daemon is killed, and with it the spans
// that it has not exported, no span of another daemon loses its parent.
type spans struct{ tracing *telemetry.Tracing }

// began starts the span of a job and keeps the context for its tasks. The context is
// written into the submission too: after a restart of the frontend the same span continues under
// its id, sampled or not as before.
func (s *spans) began(j *Job) {
	r := &j.Submission.Request
	from, since := telemetry.Carrier(r.Trace), trace.WithTimestamp(instant(j.Status.Submitted))
	var ctx context.Context
	var span trace.Span
	if j.restored {
		ctx, span = s.tracing.Resume(context.Background(), from, jobSpan, since)
	} else {
		ctx, span = s.tracing.Root(context.Background(), from, jobSpan, since)
		if own := telemetry.Own(span, from); own != (telemetry.Carrier{}) {
			r.Trace = api.Trace(own)
		}
	}
	if !span.IsRecording() {
		return
	}
	j.trace.began = time.Now()
	j.trace.own, j.trace.carrier = r.Trace, api.Trace(telemetry.Inject(ctx))
	j.trace.end = func(st *api.Status) { endJob(span, st) }
}

const jobSpan = "job"

// endJob ends the span of a job. Everything in it comes from the job's status, which the journal
// keeps: when it is recorded again, it is the same span.
func endJob(span trace.Span, st *api.Status) {
	span.SetAttributes(
		attribute.String("job", st.Job), attribute.String("app", st.App), attribute.String("class", st.Class), attribute.Int("tasks", st.Tasks),
		attribute.String("state", string(st.State)), attribute.Int("attempts", st.Attempts))
	span.SetAttributes(telemetry.OwnerAttributes(st.Owner, st.Priority)...)
	if st.State != api.StateCompleted {
		span.SetStatus(codes.Error, string(st.State)) // its reason may quote arguments and outputs
	}
	span.End(trace.WithTimestamp(instant(st.Ended)))
}

// instant returns the time of a status, in Unix seconds.
func instant(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)) }

// unexported is how many seconds a daemon may keep a span before a receiver has it: one until the
// export begins, and one more.
const unexported = 2.0

// again records the spans of jobs that ended just before the former process of this frontend did:
// it may not have exported them. A receiver that already has one receives it a second time.
func (s *spans) again(ended []*Job) {
	last := 0.0
	for _, j := range ended {
		last = max(last, j.Status.Ended)
	}
	for _, j := range ended {
		if j.Status.Ended < last-unexported || !telemetry.Carrier(j.trace.own).Sampled() {
			continue
		}
		_, span := s.tracing.Resume(context.Background(), telemetry.Carrier(j.trace.own), jobSpan, trace.WithTimestamp(instant(j.Status.Submitted)))
		endJob(span, &j.Status)
	}
}

func (j *Job) ownerAttributes() []attribute.KeyValue {
	return telemetry.OwnerAttributes(j.Status.Owner, j.Status.Priority)
}

// bound records the stage of a task that no master queues, "queued", from the
// beginning of its job's span, or of this attempt, to the launch.
func (s *spans) bound(j *Job, m *sched.Message, at wire.Ref) {
	parent := telemetry.Carrier(j.trace.carrier)
	if !parent.Sampled() {
		return
	}
	since, retried := j.trace.retries[m.First]
	if !retried {
		since = j.trace.began
	}
	_, span := s.tracing.Start(parent.Context(context.Background()), "queued",
		trace.WithTimestamp(since),
		trace.WithAttributes(attribute.String("job", j.Status.Job), attribute.Int("task", int(m.First)), attribute.Int("attempt", int(m.Attempt)),
			attribute.String("class", j.Submission.Class.String()), attribute.String("node", at.Name), attribute.Int("slot", int(at.Slot))),
		trace.WithAttributes(j.ownerAttributes()...))
	span.End()
}

// reported records the receipt of a report that ended an attempt.
func (s *spans) reported(j *Job, it *wire.Item) {
	if j.trace.end != nil {
		s.mark("reported", j, &it.Msg)
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
		s.mark("reported", j, &it.Msg)
		return
	}
	lost := *m
	lost.First, lost.Attempt = task, before
	s.mark("lost", j, &lost, attribute.String("reason", lossReason(m)))
}

// lossReason returns, in Pigeon's own words, why an attempt is given up.
func lossReason(m *sched.Message) string {
	switch {
	case m.Node != "":
		return "the node " + m.Node + " was lost"
	case m.Outcome == sched.Yielded:
		return "it was given back"
	default:
		return "no master and no node holds it"
	}
}

// mark records a span without a duration.
func (s *spans) mark(name string, j *Job, m *sched.Message, more ...attribute.KeyValue) {
	_, span := s.tracing.Start(telemetry.Carrier(j.trace.carrier).Context(context.Background()), name,
		trace.WithAttributes(attribute.String("job", j.Status.Job), attribute.Int("task", int(m.First)),
			attribute.Int("attempt", int(m.Attempt)), attribute.String("outcome", m.Outcome.String())),
		trace.WithAttributes(j.ownerAttributes()...), trace.WithAttributes(more...))
	if m.Outcome != sched.Done {
		span.SetStatus(codes.Error, m.Outcome.String()) // as for the job
	}
	span.End()
}

// TraceID returns the id of the job's trace, "" where it is not traced.
func (j *Job) TraceID() string { return telemetry.Carrier(j.trace.own).TraceID() }

// ended ends the span of a job.
func (s *spans) ended(j *Job) {
	if j.trace.end != nil {
		j.trace.end(&j.Status)
		j.trace.end = nil
	}
}
