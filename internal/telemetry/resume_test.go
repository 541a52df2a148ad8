package telemetry

import (
	"context"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// recorded returns tracing that keeps its spans, with the ratio of jobs that it samples.
func recorded(ratio float64) (*Tracing, *tracetest.SpanRecorder) {
	kept := tracetest.NewSpanRecorder()
	p := sdktrace.NewTracerProvider(sdktrace.WithSampler(resumingSampler{sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))}),
		sdktrace.WithIDGenerator(spanIDs{}), sdktrace.WithSpanProcessor(kept))
	return &Tracing{tracer: p.Tracer(tracerName)}, kept
}

// TestResume: a later process records the span of a job under the id that it had, below the
// submitter's span if it had one, whatever its own ratio is; children of the two processes
// have one parent, and a job that was not sampled stays so.
func TestResume(t *testing.T) {
	since := trace.WithTimestamp(time.Unix(1000, 0))
	for name, from := range map[string]Carrier{
		"a root": {}, "below a submitter": {Traceparent: sampled, Tracestate: "vendor=value"}, "its own member": {Traceparent: sampled, Tracestate: "pigeon=0000000000000001"},
	} {
		first, _ := recorded(1)
		ctx, span := first.Root(context.Background(), from, "job", since)
		own := Own(span, from)
		carrier := Inject(ctx)
		later, kept := recorded(0)
		_, again := later.Resume(context.Background(), own, "job", since)
		again.End()
		if len(kept.Ended()) != 1 {
			t.Fatalf("%s: %d spans are recorded", name, len(kept.Ended()))
		}
		got, want := kept.Ended()[0], span.(sdktrace.ReadOnlySpan)
		if got.SpanContext().SpanID() != want.SpanContext().SpanID() || got.SpanContext().TraceID() != want.SpanContext().TraceID() || got.Parent().SpanID() != want.Parent().SpanID() || !got.StartTime().Equal(want.StartTime()) {
			t.Errorf("%s: it was %v below %v, and is %v below %v", name, want.SpanContext(), want.Parent(), got.SpanContext(), got.Parent())
		}
		if _, child := later.Start(carrier.Context(context.Background()), "queued"); child.(sdktrace.ReadOnlySpan).Parent().SpanID() != got.SpanContext().SpanID() || child.SpanContext().SpanID() == got.SpanContext().SpanID() {
			t.Errorf("%s: a child is %v", name, child)
		}
		if strings.Contains(carrier.Tracestate, parentMember+"=") && name != "its own member" {
			t.Errorf("%s: tasks carry %q", name, carrier.Tracestate)
		}
	}
	first, _ := recorded(0)
	ctx, span := first.Root(context.Background(), Carrier{}, "job", since)
	later, kept := recorded(1)
	_, again := later.Resume(ctx, Own(span, Carrier{}), "job")
	again.End()
	if len(kept.Ended()) != 0 {
		t.Errorf("a job that was not sampled has %d spans", len(kept.Ended()))
	}
	if off, _ := Off().Root(ctx, Carrier{}, "job"); Own(trace.SpanFromContext(off), Carrier{}) != (Carrier{}) && Own(span, Carrier{}) == (Carrier{}) {
		t.Error("without tracing there is a span to resume")
	}
}

// A tracestate that has no room for the parent leaves it out: the span is resumed as a root.
func TestResumeWithoutRoom(t *testing.T) {
	full := "a=" + strings.Repeat("x", 250) + ",b=" + strings.Repeat("y", 250)
	from := Carrier{Traceparent: sampled, Tracestate: full}
	tracing, kept := recorded(1)
	_, span := tracing.Root(context.Background(), from, "job")
	own := Own(span, from)
	if len(own.Tracestate) > tracestateLimit {
		t.Fatalf("%d bytes", len(own.Tracestate))
	}
	_, again := tracing.Resume(context.Background(), own, "job")
	again.End()
	if got := kept.Ended()[0]; got.Parent().IsValid() || got.SpanContext().SpanID() != span.SpanContext().SpanID() {
		t.Errorf("%v below %v", got.SpanContext(), got.Parent())
	}
}
