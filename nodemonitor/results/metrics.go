package results

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// Metrics counts what a Reporter does.
type Metrics struct {
	kept         prometheus.Gauge
	keptBytes    prometheus.Gauge
	sent         []prometheus.Counter // by first, repeated
	acknowledged prometheus.Counter
	dropped      prometheus.Counter // unwanted
	forgotten    prometheus.Counter // of an absent frontend
	overflow     prometheus.Counter // of one that is silent and keeps too much
	unpublished  prometheus.Counter
	ignored      []prometheus.Counter // by late, byAnother
}

// How often a result was sent, as the label of a metric.
const (
	first = iota
	repeated
)

// Why an answer about results was ignored, as the label of a metric.
const (
	late = iota
	byAnother
)

// NewMetrics registers the metrics; unpublished counts the notices that NATS did not accept.
func NewMetrics(m *telemetry.Metrics, unpublished prometheus.Counter) *Metrics {
	dropped := m.Counters("results_dropped_total", "Results forgotten without an acknowledgement: their frontend does not want them, because it does not know the job; it was not reached for frontend_forget; or it is silent and twice max_results are kept for it.",
		"reason", "unwanted", "absent_frontend", "no_room")
	return &Metrics{
		kept:         m.Gauge("kept_results", "Results that their frontends have not acknowledged."),
		keptBytes:    m.Gauge("kept_result_bytes", "Bytes of reasons and stderr tails among the kept results."),
		sent:         m.Counters("reports_sent_total", "Results sent to their frontends: for the first time, or again because they were not acknowledged within a heartbeat.", "sending", "first", "repeated"),
		acknowledged: m.Counter("reports_acknowledged_total", "Results that their frontends have journaled."),
		dropped:      dropped[0],
		forgotten:    dropped[1],
		overflow:     dropped[2],
		unpublished:  unpublished,
		ignored: m.Counters("result_answers_ignored_total", "Answers about results that were ignored: a later result of the attempt is kept by now, or another frontend than the result's answered.",
			"reason", "late", "another_frontend"),
	}
}
