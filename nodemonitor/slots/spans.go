package slots

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend"
)

// spans records the node's stages of a task's life: "launched", from the receipt
// of the launch to the start, below the job as the master's "queued"; and "running" below
// it. Both are recorded at the attempt's end, so that a running attempt costs nothing.
type spans struct{ tracing *telemetry.Tracing }

// record records an attempt that ended and returns the job's context for the report. For a job that is not sampled it costs the test
// of a flag.
func (p *spans) record(node string, run *attempt, r *backend.Result) api.Trace {
	parent := telemetry.Carrier(run.Trace)
	if !parent.Sampled() {
		return api.Trace{}
	}
	attributes := trace.WithAttributes(
		attribute.String("job", run.JobName), attribute.Int("task", int(run.id.Task)),
		attribute.Int("attempt", int(run.id.Attempt)), attribute.String("class", run.class.String()),
		attribute.String("node", node), attribute.Int("slot", int(run.worker.number)),
		attribute.String("outcome", r.Outcome.String()), telemetry.OwnerAttributes(run.owner, 0)[0])
	ctx, launched := p.tracing.Start(parent.Context(context.Background()), "launched", trace.WithTimestamp(run.received), attributes)
	if r.Started.IsZero() {
		fail(launched, r)
		launched.End()
		return run.Trace
	}
	launched.End(trace.WithTimestamp(r.Started))
	_, running := p.tracing.Start(ctx, "running", trace.WithTimestamp(r.Started), attributes)
	if r.Peak > 0 {
		running.SetAttributes(attribute.Int64("peak_memory", r.Peak))
	}
	fail(running, r)
	running.End(trace.WithTimestamp(r.Finished))
	return run.Trace
}

func fail(s trace.Span, r *backend.Result) {
	if r.Outcome != sched.Done {
		s.SetStatus(codes.Error, r.Outcome.String()) // the reason may quote arguments and outputs
		if r.Code != "" {
			s.SetAttributes(attribute.String("reason", r.Code))
		}
		if r.ExitCode != 0 {
			s.SetAttributes(attribute.Int("exit", r.ExitCode))
		}
	}
}
