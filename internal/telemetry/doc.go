// Package telemetry makes a daemon observable: spans, metrics, its status over
// HTTP, and its log.
//
//	Tracing   spans -> bounded queue -> OTLP exporter     (off: no-op provider)
//	Carrier   the context of a span as two strings, for Thrift fields
//	Metrics   a Prometheus registry of the daemon's own
//	Server    /metrics, /healthz, /readyz and the handlers that the daemon adds
//	NewLogger log/slog on standard error
//
// None of it may slow a decision or stop a daemon. Spans that do not fit the
// queue are dropped and counted; an unreachable receiver is logged at most every
// ten seconds and counted; the HTTP server has its own few connections. Losses are
// counted too: [Stats] accounts for every sampled span as exported, dropped, failed
// or still queued.
//
// Sampling is decided once per job, by the frontend that accepts it. A context
// that arrives without a trace means "not sampled", not "decide again", so that
// no task has half a tree of spans; only [Tracing.Root] decides.
//
// Nothing here is global: no default registry, no default tracer provider, no
// default logger. Several daemons can live in one process.
package telemetry
