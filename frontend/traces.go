package frontend

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// traces records the frontend's stages of the jobs that are sampled: "job", the root of all spans of a
// job; below it "reported", the receipt of an attempt's report, "lost", the loss of an attempt without a
// report, and under late binding "queued"; otherwise the master records that. Sampling is
// decided here, once per job. It belongs to the owner goroutine.
//
// All stages of all daemons are below "job", except "running", which its node records
// together with "launched" above it: whichever daemon is killed, and with it the spans
// that it has not exported, no span of another daemon loses its parent.
type traces struct {
	tracing *telemetry.Tracing
	log     *slog.Logger
	jobs    map[*jobs.Job]*jobTrace // that are sampled
	former  []*jobs.Job             // that ended before this process began, until all are restored
}

// jobTrace is the span of a job, and what is kept of it until the job is forgotten.
type jobTrace struct {
	own     api.Trace           // with which a later process resumes the job's span
	carrier api.Trace           // of the tasks
	began   time.Time           // in this process
	retries map[int32]time.Time // by task: when it got its last attempt, for tasks that have had several
	span    trace.Span          // nil once it has ended
}

var _ jobs.Observer = (*traces)(nil)

func newTraces(t *telemetry.Tracing, log *slog.Logger) *traces {
	return &traces{tracing: t, log: log, jobs: map[*jobs.Job]*jobTrace{}}
}

// Observe records the stages of a job.
func (s *traces) Observe(c jobs.Change) {
	j := c.Job
	switch t := s.jobs[j]; {
	case c.Kind == jobs.Submitted, c.Kind == jobs.Restored:
		s.began(j, c.Kind == jobs.Restored)
	case c.Kind == jobs.Former && c.Former.Trace != (api.Trace{}):
		s.jobs[j], s.former = &jobTrace{own: c.Former.Trace}, append(s.former, j)
	case c.Kind == jobs.Resumed:
		s.again()
	case c.Kind == jobs.Ended:
		s.ended(j, t)
	case c.Kind == jobs.Forgotten:
		delete(s.jobs, j)
	case t == nil:
	case c.Kind == jobs.Freed:
		t.began = time.Now()
	case c.Kind == jobs.Launching:
		s.bound(j, t, c.Launch, c.At)
	case c.Kind == jobs.Recorded && t.span != nil:
		s.recorded(&c, t)
	}
}

// Carrier returns the trace context of the tasks of a job, the zero one where it is not traced.
func (s *traces) Carrier(j *jobs.Job) (c telemetry.Carrier) {
	if t := s.jobs[j]; t != nil {
		c = telemetry.Carrier(t.carrier)
	}
	return c
}

// ID returns the id of a job's trace, "" where it is not traced.
func (s *traces) ID(j *jobs.Job) string {
	if t := s.jobs[j]; t != nil {
		return telemetry.Carrier(t.own).TraceID()
	}
	return ""
}

// began starts the span of a job and keeps the context for its tasks. The context is
// written into the submission too: after a restart of the frontend the same span continues under
// its id, sampled or not as before.
func (s *traces) began(j *jobs.Job, restored bool) {
	r := &j.Submission.Request
	from, since := telemetry.Carrier(r.Trace), trace.WithTimestamp(instant(j.Status.Submitted))
	var ctx context.Context
	var span trace.Span
	if restored {
		ctx, span = s.tracing.Resume(context.Background(), from, jobSpan, since)
	} else {
		ctx, span = s.tracing.Root(context.Background(), from, jobSpan, since)
		if own := telemetry.Own(span, from); own != (telemetry.Carrier{}) {
			r.Trace = api.Trace(own)
		}
	}
	if span.IsRecording() {
		s.jobs[j] = &jobTrace{own: r.Trace, carrier: api.Trace(telemetry.Inject(ctx)), began: time.Now(), span: span}
	}
}

// recorded records the stages that end with a record.
func (s *traces) recorded(c *jobs.Change, t *jobTrace) {
	switch r := c.Record; {
	case c.Tries():
		for task := r.First; task < r.First+max(r.Count, 1); task++ {
			s.retried(c, t, task)
		}
	case c.Ends() && c.Report != nil:
		s.mark("reported", c.Job, t, &c.Report.Msg)
	case r.Kind == journal.JobEnded:
		r.Ended.Trace = t.own
	}
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
func (s *traces) again() {
	last := 0.0
	for _, j := range s.former {
		last = max(last, j.Status.Ended)
	}
	for _, j := range s.former {
		if t := s.jobs[j]; t != nil && j.Status.Ended >= last-unexported && telemetry.Carrier(t.own).Sampled() {
			_, span := s.tracing.Resume(context.Background(), telemetry.Carrier(t.own), jobSpan, trace.WithTimestamp(instant(j.Status.Submitted)))
			endJob(span, &j.Status)
		}
	}
	s.former = nil
}

func ownerAttributes(j *jobs.Job) []attribute.KeyValue {
	return telemetry.OwnerAttributes(j.Status.Owner, j.Status.Priority)
}

// bound records the stage of a task that no master queues, "queued", from the
// beginning of its job's span, or of this attempt, to the launch.
func (s *traces) bound(j *jobs.Job, t *jobTrace, m *sched.Message, at wire.Ref) {
	parent := telemetry.Carrier(t.carrier)
	if !parent.Sampled() {
		return
	}
	since, retried := t.retries[m.First]
	if !retried {
		since = t.began
	}
	_, span := s.tracing.Start(parent.Context(context.Background()), "queued",
		trace.WithTimestamp(since),
		trace.WithAttributes(attribute.String("job", j.Status.Job), attribute.Int("task", int(m.First)), attribute.Int("attempt", int(m.Attempt)),
			attribute.String("class", j.Submission.Class.String()), attribute.String("node", at.Name), attribute.Int("slot", int(at.Slot))),
		trace.WithAttributes(ownerAttributes(j)...))
	span.End()
}

// retried records why a task has a new attempt: the report of the previous one, or
// its loss without a report.
func (s *traces) retried(c *jobs.Change, t *jobTrace, task int32) {
	if t.retries == nil {
		t.retries = map[int32]time.Time{}
	}
	t.retries[task] = time.Now()
	if c.Report != nil {
		s.mark("reported", c.Job, t, &c.Report.Msg)
		return
	}
	lost := sched.Message{First: task, Attempt: c.Job.Attempt(task), Outcome: c.Record.Outcome}
	s.mark("lost", c.Job, t, &lost, attribute.String("reason", lossReason(c.Record)))
}

// lossReason returns, in Pigeon's own words, why an attempt is given up.
func lossReason(r *journal.Record) string {
	switch {
	case r.Node != "":
		return "the node " + r.Node + " was lost"
	case r.Outcome == sched.Yielded:
		return "it was given back"
	default:
		return "no master and no node holds it"
	}
}

// mark records a span without a duration.
func (s *traces) mark(name string, j *jobs.Job, t *jobTrace, m *sched.Message, more ...attribute.KeyValue) {
	_, span := s.tracing.Start(telemetry.Carrier(t.carrier).Context(context.Background()), name,
		trace.WithAttributes(attribute.String("job", j.Status.Job), attribute.Int("task", int(m.First)),
			attribute.Int("attempt", int(m.Attempt)), attribute.String("outcome", m.Outcome.String())),
		trace.WithAttributes(ownerAttributes(j)...), trace.WithAttributes(more...))
	if m.Outcome != sched.Done {
		span.SetStatus(codes.Error, m.Outcome.String()) // as for the job
	}
	span.End()
}

// ended ends the span of a job, and writes at level debug how it ended, with the id of its trace.
func (s *traces) ended(j *jobs.Job, t *jobTrace) {
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		telemetry.LogTrace(s.log, s.Carrier(j)).Debug("a job ended", "job", j.Status.Job, "state", j.Status.State, "seconds", j.Status.Seconds, "attempts", j.Status.Attempts)
	}
	if t != nil && t.span != nil {
		endJob(t.span, &j.Status)
		t.span = nil
	}
}
