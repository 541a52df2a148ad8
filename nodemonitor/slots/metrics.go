package slots

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// Metrics are the metrics of Workers. The count of slots belongs to the owner goroutine, and is
// published after a batch.
type Metrics struct {
	slots     slotCounts
	published slotCounts

	workers       [][]prometheus.Gauge // by kind and state
	launches      prometheus.Counter
	refusals      []prometheus.Counter  // by refusal
	ended         []prometheus.Counter  // by outcome
	failed        []prometheus.Counter  // by reason
	ran           []prometheus.Observer // by class
	idles         prometheus.Counter
	unpublished   prometheus.Counter
	ignored       prometheus.Counter
	undeliverable prometheus.Counter
	repeated      prometheus.Counter // requests
	withdrawn     prometheus.Counter // attempts
}

// slotCounts is how many slots there are, by kind and state.
type slotCounts [slotKinds][slotStates]int

const (
	general = iota
	reserved
	slotKinds
)

const (
	idle = iota
	busy
	slotStates
)

// Why launches are refused, as the label of a metric.
const (
	refusedBusy = iota
	refusedEpoch
	refusedOutdated
	refusedReserved
	refusedByNode
	refusedRepeated
)

// NewMetrics registers the metrics; unpublished counts the notices that NATS did not accept.
func NewMetrics(m *telemetry.Metrics, unpublished prometheus.Counter) *Metrics {
	return &Metrics{
		workers: m.GaugeMatrix("workers", "Slots, by kind and state.",
			telemetry.Label{Name: "kind", Values: []string{"general", "reserved"}}, telemetry.Label{Name: "state", Values: []string{"idle", "busy"}}),
		launches: m.Counter("launches_total", "Launches accepted."),
		refusals: m.Counters("launches_refused_total", "Launches refused, by reason: the slot is busy, the master's epoch is over, its knowledge of the slot is outdated, a long task met a reserved slot, the node denied the launch, or it has started the attempt before.",
			"reason", "busy", "epoch", "outdated", "reserved", "node", "repeated"),
		ended: m.Counters("attempts_ended_total", "Attempts that ended, by outcome.", "outcome",
			sched.Unfinished.String(), sched.Done.String(), sched.Failed.String(), sched.Killed.String(), sched.Lost.String(), sched.Yielded.String()),
		failed: m.Counters("attempts_failed_total", "Attempts that failed, by reason: they needed more memory than their limit, ran for longer than theirs, had as many processes as the node allows, asked for more than the node allows and were not started, may not run here as who submitted them, or anything else.",
			"reason", append(api.FailureCodes(), "other")...),
		ran:           m.Latencies("run_seconds", "How long attempts ran.", "class", sched.Short.String(), sched.Long.String()),
		idles:         m.Counter("idle_notices_total", "Slots reported to be idle, by NATS or Thrift."),
		unpublished:   unpublished,
		ignored:       m.Counter("messages_ignored_total", "Messages of a slot or kind that means nothing here, and ends of attempts that do not run."),
		undeliverable: m.Counter("messages_undeliverable_total", "Messages to frontends and workers that are no members any more."),
		repeated:      m.Counter("requests_repeated_total", "Workers' requests for a task that were sent again because they were not answered."),
		withdrawn:     m.Counter("attempts_withdrawn_total", "Attempts that a drain gave back: they waited here, or still ran at its deadline. They run elsewhere, and nothing is held against them."),
	}
}

// failureLabel returns the label under which a failure is counted.
func failureLabel(code string) int {
	if i := slices.Index(api.FailureCodes(), code); i >= 0 {
		return i
	}
	return len(api.FailureCodes())
}

// kind indexes what is counted by kind of slot.
func (w *worker) kind() int {
	if w.reserved() {
		return reserved
	}
	return general
}

// count adds a worker's slots to the count, or subtracts them.
func (m *Metrics) count(w *worker, sign int) {
	m.slots[w.counted][busy] += sign * w.running
	m.slots[w.counted][idle] += sign * (w.slots - w.running)
}

// recount moves a worker's slots when its kind has changed.
func (m *Metrics) recount(w *worker) {
	if kind := w.kind(); kind != w.counted {
		m.count(w, -1)
		w.counted = kind
		m.count(w, 1)
	}
}

// publish exports the count of slots after a batch.
func (m *Metrics) publish() {
	if m.slots == m.published {
		return
	}
	m.published = m.slots
	for kind := range m.slots {
		for state, n := range m.slots[kind] {
			m.workers[kind][state].Set(float64(n))
		}
	}
}
