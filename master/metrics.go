package master

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// metrics counts the owner goroutine's work and keeps a snapshot of the queues that other
// goroutines may read.
type metrics struct {
	*telemetry.Metrics
	launches  []prometheus.Counter  // by class
	waits     []prometheus.Observer // by class, seconds from arrival to launch
	notices   prometheus.Counter
	stale     prometheus.Counter
	unread    prometheus.Counter
	away      []prometheus.Counter // by awayReason
	full      prometheus.Counter   // tasks returned because max_bytes was reached
	unknown   *daemon.KindRefusals
	takeovers prometheus.Counter
	refused   map[string]prometheus.Counter // hellos, by reason
	owners    ownerMetrics
	snapshot  atomic.Pointer[metricsSnapshot]
	taken     time.Time // when the snapshot was taken; only the owner goroutine uses it
}

// metricsSnapshot is the group at one moment.
type metricsSnapshot struct {
	sched.GroupTotals
	epoch    uint64
	payloads int64
	nodes    int
	siblings int
}

// snapshotEvery is how old a snapshot may be while the owner goroutine is busy.
const snapshotEvery = 20 * time.Millisecond

func newMetrics(now func() sched.Time) *metrics {
	m := telemetry.NewMetrics("master")
	class := telemetry.Label{Name: "class", Values: []string{sched.Short.String(), sched.Long.String()}}
	kind := telemetry.Label{Name: "kind", Values: []string{"general", "reserved"}}
	e := &metrics{
		Metrics:   m,
		launches:  m.Counters("launches_total", "Tasks launched at workers.", class.Name, class.Values...),
		waits:     m.Latencies("queued_seconds", "Time from a task's arrival at the master to its launch.", class.Name, class.Values...),
		notices:   m.Counter("idle_notices_total", "Idle notices accepted, from NATS and Thrift."),
		stale:     m.Counter("stale_batches_total", "Batches and notices of peers that were lost, restarted or not registered, ignored."),
		away:      m.Counters("frontends_away_total", "Frontends to which the tasks that waited for them were returned, by reason: not reached for most of master_lost, or silent while a node refused launches.", "reason", awayReasons[:]...),
		unread:    m.Counter("notices_unread_total", "Notices that could not be read or had no room."),
		full:      m.Counters("tasks_refused_total", "Tasks returned to their frontend, which tries again, by reason: their payloads have no room in max_bytes.", "reason", "max_bytes")[0],
		unknown:   daemon.NewKindRefusals(m),
		takeovers: m.Counter("takeovers_total", "Times that this master began to lead a group that has standbys."),
		refused:   newRefusedHellos(m),
		owners:    newOwnerMetrics(m, class),
	}
	e.snapshot.Store(&metricsSnapshot{GroupTotals: sched.GroupTotals{Oldest: [sched.NumClasses]sched.Time{sched.Unknown, sched.Unknown}}})
	m.GaugeFuncs("queued_tasks", "Tasks that wait for a worker.", class, func(c int) float64 { return float64(e.snapshot.Load().Queued[c]) })
	m.GaugeFuncs("oldest_wait_seconds", "How long the task has waited that has waited longest.", class, func(c int) float64 {
		return waited(e.snapshot.Load().Oldest[c], now())
	})
	m.GaugeFuncs("idle_workers", "Idle workers that take tasks: their nodes can be reached and do not drain.", kind, func(k int) float64 { return float64(max(0, e.snapshot.Load().Idle[k])) })
	m.GaugeFuncs("busy_workers", "Busy workers.", kind, func(k int) float64 { return float64(e.snapshot.Load().Busy[k]) })
	m.GaugeFunc("epoch", "Epoch this master works under.", func() float64 { return float64(e.snapshot.Load().epoch) })
	m.GaugeFunc("payload_bytes", "Bytes of the payloads of tasks that are queued or run, estimated.", func() float64 { return float64(e.snapshot.Load().payloads) })
	m.GaugeFunc("nodes", "Nodes that are registered.", func() float64 { return float64(e.snapshot.Load().nodes) })
	m.GaugeFunc("siblings", "Masters of other groups that can be reached, where masters hand tasks to each other.", func() float64 { return float64(e.snapshot.Load().siblings) })
	m.CounterFunc("attempts_lost_total", "Attempts whose worker was lost.", func() float64 { return float64(e.snapshot.Load().Lost) })
	m.CounterFunc("launches_refused_total", "Launches that a slot refused.", func() float64 { return float64(e.snapshot.Load().Refused) })
	return e
}

// watchStanding exports whether the master leads.
func (e *metrics) watchStanding(leads func() bool) {
	e.GaugeIf("leads", "1 while this master leads its group, which it always does where the group has no standbys; 0 while it is a standby.", leads)
}

// Metrics returns the metrics that a master exports, all at zero, for their
// documentation.
func Metrics() *telemetry.Metrics {
	m := newMetrics(func() sched.Time { return 0 })
	m.WatchTracing(telemetry.Off())
	m.WatchMessages(func() uint64 { return 0 })
	m.WatchMisdirected(func() uint64 { return 0 })
	m.WatchInbox(func() uint64 { return 0 })
	m.watchStanding(func() bool { return true })
	daemon.WatchCredentials(nil, m.Metrics)
	daemon.WatchAudit(nil, m.Metrics)
	daemon.WatchServers(func() server.Stats { return server.Stats{} }, m.Metrics)
	return m.Metrics
}

func (e *metrics) launched(it *wire.Item, arrived time.Time) {
	c := it.Msg.Class
	e.launches[c].Inc()
	if !arrived.IsZero() {
		telemetry.ObserveTraced(e.waits[c], time.Since(arrived).Seconds(), telemetry.Carrier(it.Trace))
	}
}

// message counts a message of a node's slot.
func (e *metrics) message(k sched.Kind) {
	if k == sched.Idle {
		e.notices.Inc()
	}
}

// refresh takes a new snapshot when the last is old enough. An idle owner goroutine is
// woken by its sweep, so the snapshot is never older than a sweep.
func (e *metrics) refresh(o *owner) {
	if time.Since(e.taken) < snapshotEvery {
		return
	}
	e.taken = time.Now()
	e.snapshot.Store(&metricsSnapshot{GroupTotals: o.core.view.Totals(), epoch: o.epoch.Number, payloads: o.payloads.Bytes(), nodes: o.nodes.Len(), siblings: o.siblings.reached()})
	e.owners.refresh(o.core.view)
}

// waited returns how many seconds have passed since an instant; 0 when nothing waits.
func waited(since, now sched.Time) float64 {
	if since == sched.Unknown {
		return 0
	}
	return (now - since).Seconds()
}
