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

// KindRefusals reports the messages of other daemons whose kind this version does not know,
// and those to other daemons that do not know their kind: each is counted, and the first of
// a daemon and kind is logged. It is safe for concurrent use.
type KindRefusals struct {
	refused  prometheus.Counter
	withheld prometheus.Counter

	mu     sync.Mutex
	logged map[unknownKind]bool
}

type unknownKind struct {
	peer     wire.Ref
	kind     int8
	received bool
}

// NewKindRefusals registers the metric.
func NewKindRefusals(m *telemetry.Metrics) *KindRefusals {
	return &KindRefusals{
		logged: map[unknownKind]bool{},
		refused: m.Counters("messages_refused_total",
			"Messages of other daemons that were left out of their batch, by reason; the rest of the batch was received.", "reason", "unknown_kind")[0],
		withheld: m.Counters("messages_withheld_total",
			"Messages that another daemon left out, or that were not sent to it for that reason, by reason; tasks among them are tried elsewhere.", "reason", "unknown_kind")[0],
	}
}

// Withheld reports messages that a peer does not know, and returns the answers that it would
// have given, for the core that sent them.
func (u *KindRefusals) Withheld(log *slog.Logger, peer wire.Ref, items []wire.Item) (answers []wire.Item) {
	u.withheld.Add(float64(len(items)))
	for i := range items {
		if u.first(unknownKind{peer, int8(items[i].Msg.Kind), false}) { //nolint:gosec // below 128
			log.Error("a peer does not know a kind of messages and receives none of them any more; run the same version of pigeon on all hosts", "peer", peer.String(), "kind", items[i].Msg.Kind.String())
		}
		if a, ok := wire.Declined(&items[i]); ok {
			answers = append(answers, a)
		}
	}
	return answers
}

// Report returns what [wire.Codec.OnUnknown] calls.
func (u *KindRefusals) Report(log *slog.Logger) func(sender wire.Ref, kind int8) {
	return func(sender wire.Ref, kind int8) {
		u.refused.Inc()
		if u.first(unknownKind{sender, kind, true}) {
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
