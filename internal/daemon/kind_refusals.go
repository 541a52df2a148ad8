package daemon

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// unknownLogged bounds the senders and kinds whose first unknown message is logged.
const unknownLogged = 1000

// KindRefusals reports the messages of other daemons whose kind this version does not know:
// each is counted, and the first of a sender and kind is logged. It is safe for concurrent
// use.
type KindRefusals struct {
	refused prometheus.Counter

	mu     sync.Mutex
	logged map[unknownKind]bool
}

type unknownKind struct {
	sender wire.Ref
	kind   int8
}

// NewKindRefusals registers the metric.
func NewKindRefusals(m *telemetry.Metrics) *KindRefusals {
	return &KindRefusals{logged: map[unknownKind]bool{}, refused: m.Counters("messages_refused_total",
		"Messages of other daemons that were left out of their batch, by reason; the rest of the batch was received.", "reason", "unknown_kind")[0]}
}

// Report returns what [wire.Codec.OnUnknown] calls.
func (u *KindRefusals) Report(log *slog.Logger) func(sender wire.Ref, kind int8) {
	return func(sender wire.Ref, kind int8) {
		u.refused.Inc()
		if u.first(unknownKind{sender, kind}) {
			log.Error("messages of a kind that this version does not know are left out; run the same version of pigeon on all hosts", "peer", sender.String(), "kind", kind)
		}
	}
}

func (u *KindRefusals) first(k unknownKind) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.logged[k] || len(u.logged) >= unknownLogged {
		return false
	}
	u.logged[k] = true
	return true
}
