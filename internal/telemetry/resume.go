package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A span is exported when it ends, so one that is open when its process is killed is lost,
// and all spans below it are orphans. A daemon that keeps a Carrier of the span on disk can record
// it in a later process: Own returns such a Carrier, Resume continues the span under its id.

// parentMember is the member of a Carrier's tracestate that keeps the parent of its span.
const parentMember = "pigeon"

// Own returns the Carrier of a span that Root began from another, with which a later process
// can resume it. It is zero for a span that has no trace.
func Own(span trace.Span, from Carrier) Carrier {
	c := span.SpanContext()
	if !c.IsValid() {
		return Carrier{}
	}
	var own Carrier
	state := c.TraceState()
	if parent := from.spanContext(); parent.IsValid() && c.IsSampled() {
		if with, err := state.Insert(parentMember, parent.SpanID().String()); err == nil && len(with.String()) <= tracestateLimit {
			state = with
		}
	}
	own.Traceparent, own.Tracestate = "00-"+c.TraceID().String()+"-"+c.SpanID().String()+"-"+c.TraceFlags().String(), state.String()
	return own
}

// Resume begins again, with the id that it had, the span that own describes. Where it was not
// sampled nothing is recorded.
func (t *Tracing) Resume(ctx context.Context, own Carrier, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	span := own.spanContext()
	if !span.IsSampled() {
		return t.tracer.Start(own.Context(ctx), name, opts...) //nolint:spancheck // the caller ends it
	}
	state := span.TraceState()
	ctx = context.WithValue(ctx, resumedKey{}, span)
	if parent, err := trace.SpanIDFromHex(state.Get(parentMember)); err == nil {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: span.TraceID(), SpanID: parent, TraceFlags: span.TraceFlags(), TraceState: state.Delete(parentMember), Remote: true,
		}))
	} else {
		opts = append(opts, trace.WithNewRoot())
	}
	return t.tracer.Start(ctx, name, opts...) //nolint:spancheck // the caller ends it
}

// resumedKey leads from a context to the trace.SpanContext of the span that begins again.
type resumedKey struct{}

func resumed(ctx context.Context) (trace.SpanContext, bool) {
	span, ok := ctx.Value(resumedKey{}).(trace.SpanContext)
	return span, ok
}

// spanIDs draws ids, except for spans that begin again.
type spanIDs struct{}

func (spanIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if span, ok := resumed(ctx); ok {
		return span.TraceID(), span.SpanID()
	}
	var id trace.TraceID
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, newSpanID()
}

func (spanIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if span, ok := resumed(ctx); ok {
		return span.SpanID()
	}
	return newSpanID()
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// resumingSampler keeps spans that begin again, which are sampled, and asks another sampler
// about others.
type resumingSampler struct{ sdktrace.Sampler }

func (s resumingSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if _, ok := resumed(p.ParentContext); ok {
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
	}
	return s.Sampler.ShouldSample(p)
}
