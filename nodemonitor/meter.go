package nodemonitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
)

// meter counts what the owner does. Its metrics may be read by any goroutine; the
// count of slots is the owner's, and published after a batch.
type meter struct {
	metrics *telemetry.Metrics
	slots   [slotKinds][slotStates]int
	shown   [slotKinds][slotStates]int

	workers     [slotKinds][]prometheus.Gauge // by state
	launches    prometheus.Counter
	refusals    []prometheus.Counter  // by refusal
	ended       []prometheus.Counter  // by outcome
	ran         []prometheus.Observer // by class
	results     *results.Metrics
	idles       prometheus.Counter
	unpublished prometheus.Counter
	ignored     prometheus.Counter
	replaced    prometheus.Counter
	unreachable prometheus.Counter
	asked       prometheus.Counter   // again
	relayed     []prometheus.Counter // by fate
}

// Why launches are refused, as the label of a metric.
const (
	refusedBusy = iota
	refusedEpoch
	refusedSeq
	refusedReserved
	refusedByNode
	numRefusals
)

// Fates of a backend's message to its application.
const (
	messageDelivered = iota
	messageRefused
	messageDropped
)

func newMeter() *meter {
	m := telemetry.NewMetrics("nodemonitor")
	e := &meter{
		metrics:  m,
		launches: m.Counter("launches_total", "Launches accepted."),
		refusals: m.Counters("launches_refused_total", "Launches refused, by why: the slot is busy, the master's epoch is over, its knowledge of the slot is outdated, a long task met a reserved slot, or the node cannot take any.",
			"reason", "busy", "epoch", "outdated", "reserved", "node"),
		ended: m.Counters("attempts_ended_total", "Attempts that ended, by outcome.", "outcome",
			sched.Unfinished.String(), sched.Done.String(), sched.Failed.String(), sched.Killed.String(), sched.Lost.String(), sched.Yielded.String()),
		ran:         m.Latencies("run_seconds", "How long attempts ran.", "class", sched.Short.String(), sched.Long.String()),
		idles:       m.Counter("idle_notices_total", "Slots told to be idle, by NATS or Thrift."),
		unpublished: m.Counter("notices_unpublished_total", "Idle notices and reports that NATS did not take; they went by Thrift."),
		ignored:     m.Counter("messages_ignored_total", "Messages of a slot or kind that means nothing here, and ends of attempts that do not run."),
		replaced:    m.Counter("messages_of_replaced_total", "Batches of processes that the roll has replaced by others; they were taken and ignored."),
		unreachable: m.Counter("messages_undeliverable_total", "Messages to frontends and workers that are not on the roll any more."),
		asked:       m.Counter("questions_repeated_total", "Workers' questions for a task that were asked again for want of an answer."),
		relayed: m.Counters("messages_relayed_total", "Messages of backends to their applications, by fate.", "fate",
			"delivered", "refused", "dropped"),
	}
	for kind, name := range []string{"general", "reserved"} {
		e.workers[kind] = m.Gauges("workers_"+name, "Slots of the kind, by state.", "state", "idle", "busy")
	}
	e.results = results.NewMetrics(m, e.unpublished)
	return e
}

// watchNotices exports what became of notices.
func (e *meter) watchNotices(c *notice.Conn) {
	e.metrics.CounterFunc("nats_unsent_total", "Notices that NATS did not take or that were dropped from its queue.", func() float64 { return float64(c.Stats().Unsent) })
	e.metrics.CounterFunc("nats_overrun_total", "Acknowledgements dropped because too many waited.", func() float64 { return float64(c.Stats().Overrun) })
	e.metrics.GaugeFunc("nats_connected", "1 while the NATS server is reachable.", func() float64 {
		if c.Connected() {
			return 1
		}
		return 0
	})
}

// watchBackends exports what the registry of backends counts.
func (e *meter) watchBackends(r *app.Registry) {
	e.metrics.GaugeFunc("backends", "Backend processes of applications registered now.", func() float64 {
		s := r.Stats()
		return float64(s.Registered - s.Gone)
	})
	e.metrics.CounterFunc("backend_launches_total", "Tasks handed to backend processes.", func() float64 { return float64(r.Stats().Launches) })
	e.metrics.CounterFunc("backend_reports_ignored_total", "Ends that backends reported of tasks they did not run, or reported twice.", func() float64 {
		s := r.Stats()
		return float64(s.Unknown + s.Repeated)
	})
}

// count puts a worker's slots into the count, or takes them out of it.
func (e *meter) count(w *worker, sign int) {
	e.slots[w.counted][busySlot] += sign * w.running
	e.slots[w.counted][idleSlot] += sign * (w.slots - w.running)
}

// publish shows the slots after a batch.
func (e *meter) publish() {
	if e.slots == e.shown {
		return
	}
	e.shown = e.slots
	for kind := range e.slots {
		for state, n := range e.slots[kind] {
			e.workers[kind][state].Set(float64(n))
		}
	}
}
