package telemetry

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// traceIDLabel names the trace in exemplars and in the log, as OpenTelemetry does.
const (
	traceIDLabel = "trace_id"
	spanIDLabel  = "span_id"
)

// ObserveTraced observes a value. Where the job is sampled its trace becomes the exemplar
// of the value's bucket, which scrapes in the OpenMetrics format show, so that a dashboard
// leads from a slow bucket to one trace in it. Else it costs the test of a flag.
func ObserveTraced(o prometheus.Observer, value float64, from Carrier) {
	if from.Traceparent != "" {
		if e, ok := o.(prometheus.ExemplarObserver); ok {
			if span := from.spanContext(); span.IsSampled() {
				e.ObserveWithExemplar(value, prometheus.Labels{traceIDLabel: span.TraceID().String(), spanIDLabel: span.SpanID().String()})
				return
			}
		}
	}
	o.Observe(value)
}

// TraceID returns the id of the carried trace as receivers show it, 32 hexadecimal digits;
// "" when the job is not sampled.
func (c Carrier) TraceID() string {
	if span := c.spanContext(); span.IsSampled() {
		return span.TraceID().String()
	}
	return ""
}

// LogTrace returns a log whose lines have the id of a job's trace, trace_id; log itself when the
// job is not sampled.
func LogTrace(log *slog.Logger, from Carrier) *slog.Logger {
	if id := from.TraceID(); id != "" {
		return log.With(traceIDLabel, id)
	}
	return log
}
