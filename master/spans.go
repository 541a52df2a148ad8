package master

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// spans records the master's stage of a task's life, "queued": from the arrival
// of the task to its launch. The node monitor's stages follow it.
type spans struct{ tracing *telemetry.Tracing }

// queued ends the stage for a launch. It is a sibling of the node's stages, which keep their
// parent when this master is killed before it has exported the span. For a job that is not sampled it costs the test of a flag.
func (s *spans) queued(it *wire.Item, to wire.Ref, arrived time.Time) {
	parent := telemetry.Carrier(it.Trace)
	if !parent.Sampled() {
		return
	}
	_, span := s.tracing.Start(parent.Context(context.Background()), "queued",
		trace.WithTimestamp(arrived), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(
			attribute.String("job", it.JobName), attribute.Int("task", int(it.Msg.First)),
			attribute.Int("attempt", int(it.Msg.Attempt)), attribute.String("class", it.Msg.Class.String()),
			attribute.String("node", to.Name), attribute.Int("slot", int(to.Slot))),
		trace.WithAttributes(telemetry.OwnerAttributes(it.Msg.Owner, it.Msg.Priority)...))
	span.End()
}
