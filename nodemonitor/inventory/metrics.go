package inventory

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Metrics counts what [Inventories] do.
type Metrics struct {
	messages []prometheus.Counter // by form
	unwanted []prometheus.Counter // by what happened to them
}

// The forms of a message, as the label of a metric.
const (
	listed = iota
	digest
)

// What happens to unwanted attempts, as the label of a metric.
const (
	stop = iota
	forget
)

// NewMetrics registers the metrics.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	return &Metrics{
		messages: m.Counters("inventory_messages_total", "Messages to frontends about what this node holds of them: with the attempts listed, or their count and hash only, because nothing had changed.", "form", "listed", "digest"),
		unwanted: m.Counters("attempts_unwanted_total", "Attempts that their frontend did not want when they were listed to it: stopped, or their results forgotten.", "effect", "stopped", "forgotten"),
	}
}

// sent counts a message.
func (m *Metrics) sent(v *wire.Inventory) {
	form := listed
	if v.Digest {
		form = digest
	}
	m.messages[form].Inc()
}
