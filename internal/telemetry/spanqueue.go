package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// failureLogEvery keeps an absent receiver from filling the log.
const failureLogEvery = 10 * time.Second

// Stats accounts for sampled spans that ended: Ended = Exported + Dropped +
// Failed + Queued.
type Stats struct {
	Ended    uint64 // handed to the processor
	Exported uint64 // accepted by the receiver
	Dropped  uint64 // the queue was full
	Failed   uint64 // the receiver refused them or could not be reached
	Queued   uint64 // waiting, or being exported
}

// countingProcessor sits in front of the SDK's batch processor, and its
// countingExporter between that and the exporter. The SDK counts its drops in a
// private field; here a span is admitted only when fewer than limit are
// outstanding, so the SDK's own queue, of the same size, never overflows and
// every drop happens here and is counted.
type countingProcessor struct {
	sdktrace.SpanProcessor // the SDK's batch processor

	exporter sdktrace.SpanExporter
	limit    int64
	logger   *slog.Logger
	ending   context.Context // ends the exports at the deadline of a shutdown
	stop     context.CancelFunc

	outstanding                      atomic.Int64
	ended, exported, dropped, failed atomic.Uint64
	nextLog                          atomic.Int64 // nanoseconds since began
	began                            time.Time
}

func newCountingProcessor(exporter sdktrace.SpanExporter, limit int, logger *slog.Logger) *countingProcessor {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &countingProcessor{exporter: exporter, limit: int64(limit), logger: logger, began: time.Now()}
	c.ending, c.stop = context.WithCancel(context.Background())
	c.SpanProcessor = sdktrace.NewBatchSpanProcessor(countingExporter{c},
		sdktrace.WithMaxQueueSize(limit),
		sdktrace.WithMaxExportBatchSize(min(maxExportBatch, limit)),
		sdktrace.WithBatchTimeout(time.Second),
		sdktrace.WithExportTimeout(exportTimeout))
	return c
}

// OnEnd runs on the goroutine that ended the span; it never blocks.
func (c *countingProcessor) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	c.ended.Add(1)
	if c.outstanding.Add(1) > c.limit {
		c.outstanding.Add(-1)
		c.dropped.Add(1)
		return
	}
	c.SpanProcessor.OnEnd(s)
}

func (c *countingProcessor) stats() Stats {
	return Stats{
		Ended: c.ended.Load(), Exported: c.exported.Load(), Dropped: c.dropped.Load(),
		Failed: c.failed.Load(), Queued: uint64(max(0, c.outstanding.Load())),
	}
}

// exportEnded counts a batch that left the queue.
func (c *countingProcessor) exportEnded(n int, err error) {
	c.outstanding.Add(-int64(n))
	if err == nil {
		c.exported.Add(uint64(n))
		return
	}
	total := c.failed.Add(uint64(n))
	now, next := int64(time.Since(c.began)), c.nextLog.Load()
	if now >= next && c.nextLog.CompareAndSwap(next, now+int64(failureLogEvery)) {
		c.logger.Warn("spans could not be exported; scheduling is not affected. Check the address of the OTLP receiver",
			"error", err, "spans", n, "failed_in_all", total)
	}
}

// countingExporter drops errors after counting them: the SDK would print them by a
// process-wide handler.
type countingExporter struct{ c *countingProcessor }

func (e countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.c.ending, cancel)()
	e.c.exportEnded(len(spans), e.c.exporter.ExportSpans(ctx, asText(spans)))
	return nil
}

func (e countingExporter) Shutdown(ctx context.Context) error {
	defer e.c.stop()
	return e.c.exporter.Shutdown(ctx)
}
