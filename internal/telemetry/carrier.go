package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// W3C Trace Context limits; longer text violates it.
const (
	traceparentLength = 55
	tracestateLimit   = 512

	traceparentField = "traceparent"
	tracestateField  = "tracestate"
)

// Carrier is a span's context as it travels in an optional Thrift struct. The zero
// Carrier means that the job is not sampled.
type Carrier struct {
	Traceparent string // W3C, 55 bytes
	Tracestate  string // W3C, at most 512 bytes
}

// Inject returns the context of the span in ctx. It is zero, and costs no
// allocation, when the span is not sampled.
func Inject(ctx context.Context) Carrier {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return Carrier{}
	}
	var c Carrier // here, because it escapes to the heap
	propagation.TraceContext{}.Inject(ctx, &c)
	return c
}

// Context returns ctx with the carried span as the parent of the next one. With
// a zero or malformed carrier the next span, and all below it, record nothing.
func (c Carrier) Context(ctx context.Context) context.Context {
	if parent := c.spanContext(); parent.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	return trace.ContextWithRemoteSpanContext(ctx, unsampled())
}

// Sampled reports whether spans of this job are worth starting.
func (c Carrier) Sampled() bool { return c.Traceparent != "" && c.spanContext().IsSampled() }

// unsampled returns a parent that is not sampled: samplers that follow their
// parent drop the spans below it.
func unsampled() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Remote: true})
}

func (c Carrier) spanContext() trace.SpanContext {
	if len(c.Traceparent) != traceparentLength {
		return trace.SpanContext{}
	}
	if len(c.Tracestate) > tracestateLimit {
		c.Tracestate = ""
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), &c)
	return trace.SpanContextFromContext(ctx)
}

// Get returns one of the two fields. With Set and Keys it makes *Carrier a
// propagation.TextMapCarrier.
func (c *Carrier) Get(key string) string {
	switch key {
	case traceparentField:
		return c.Traceparent
	case tracestateField:
		return c.Tracestate
	}
	return ""
}

// Set stores one of the two fields and ignores any other.
func (c *Carrier) Set(key, value string) {
	switch key {
	case traceparentField:
		c.Traceparent = value
	case tracestateField:
		c.Tracestate = value
	}
}

// Keys returns the names of both fields.
func (c *Carrier) Keys() []string { return []string{traceparentField, tracestateField} }
