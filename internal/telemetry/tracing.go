package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// The defaults of the SDK (2,048 and 512) drop spans silently at 10,000
// tasks a second with four spans each.
const (
	maxQueuedSpans = 65536
	maxExportBatch = 4096
	exportTimeout  = 10 * time.Second
)

// OwnerAttributes returns the attributes of a span that name the owner of its job and, when
// it is not 0, the job's priority.
func OwnerAttributes(owner string, priority int32) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String("pigeon.owner", owner)}
	if priority != 0 {
		list = append(list, attribute.Int("pigeon.priority", int(priority)))
	}
	return list
}

// Options of [Setup].
type Options struct {
	Service  string       // role and identity as the receiver shows them, "pigeon-frontend"
	Instance string       // which one of its role, "" for the only one
	Endpoint string       // OTLP receiver (gRPC without TLS), host:port; "" switches tracing off
	Ratio    float64      // share of jobs whose spans are kept, 0..1
	Logger   *slog.Logger // logs failed exports; nil discards
}

// Tracing owns the provider of one daemon and the goroutine that exports.
type Tracing struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider // nil when off
	counter  *countingProcessor       // nil when off
}

// Setup returns the tracing that the options describe. It never waits for the
// receiver: when that is absent, spans are lost and the daemon still starts. The
// error names a wrong option.
func Setup(ctx context.Context, o Options) (*Tracing, error) {
	if o.Ratio < 0 || o.Ratio > 1 || o.Ratio != o.Ratio {
		return nil, fmt.Errorf("tracing of %s: sampling ratio %v is not between 0 and 1; set it to the share of jobs to trace", o.Service, o.Ratio)
	}
	if o.Endpoint == "" {
		return Off(), nil
	}
	exporter, err := otlptracegrpc.New(ctx,
		otlptracegrpc.WithEndpoint(o.Endpoint),
		otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithTimeout(exportTimeout))
	if err != nil {
		return nil, fmt.Errorf("tracing of %s to %s could not be set up: %w; give the receiver as host:port", o.Service, o.Endpoint, err)
	}
	return newTracing(o, exporter, maxQueuedSpans), nil
}

// Off returns tracing that records nothing and costs next to nothing.
func Off() *Tracing {
	return &Tracing{tracer: noop.NewTracerProvider().Tracer(tracerName)}
}

const tracerName = "github.com/pigeon-sched/pigeon"

func newTracing(o Options, exporter sdktrace.SpanExporter, queue int) *Tracing {
	counter := newCountingProcessor(exporter, queue, o.Logger)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(resumingSampler{sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))}),
		sdktrace.WithIDGenerator(spanIDs{}),
		sdktrace.WithSpanProcessor(counter),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", o.Service),
			attribute.String("service.instance.id", o.Instance))))
	return &Tracing{tracer: provider.Tracer(tracerName), provider: provider, counter: counter}
}

// Start begins a span below the one in ctx; without one there, nothing is
// recorded when the context came from a [Carrier].
func (t *Tracing) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, opts...) //nolint:spancheck // the caller ends it
}

// Root begins the first span of a job and decides whether the job is sampled:
// as the application decided, if it sent a context, else by the ratio.
func (t *Tracing) Root(ctx context.Context, from Carrier, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if parent := from.spanContext(); parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		opts = append(opts, trace.WithNewRoot())
	}
	return t.tracer.Start(ctx, name, opts...) //nolint:spancheck // the caller ends it
}

// Stats returns the counts of the sampled spans that have ended so far.
func (t *Tracing) Stats() Stats {
	if t.counter == nil {
		return Stats{}
	}
	return t.counter.stats()
}

// Shutdown exports the queued spans and stops. When ctx ends first, the spans
// left are dropped and counted as failed. It blocks until the exporting goroutine
// has ended; calling it twice is safe.
func (t *Tracing) Shutdown(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	// The SDK would return at the deadline and leave its goroutine retrying, so the
	// deadline ends the exports instead, and Shutdown waits for the SDK.
	stop := context.AfterFunc(ctx, t.counter.stop)
	defer stop()
	if err := t.provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("tracing did not shut down cleanly: %w", err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("tracing stopped exporting at its deadline (%d spans failed): %w", t.Stats().Failed, ctx.Err())
	}
	return nil
}
