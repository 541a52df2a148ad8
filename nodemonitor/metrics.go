package nodemonitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/guard"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/nodemonitor/grants"
	"github.com/pigeon-sched/pigeon/nodemonitor/inventory"
	"github.com/pigeon-sched/pigeon/nodemonitor/results"
	"github.com/pigeon-sched/pigeon/nodemonitor/slots"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// metrics are the metrics of a node monitor, by the part that counts.
type metrics struct {
	*telemetry.Metrics
	slots      *slots.Metrics
	results    *results.Metrics
	inventory  *inventory.Metrics
	superseded prometheus.Counter
	unknown    *daemon.KindRefusals
	refused    prometheus.Counter
}

func newMetrics() *metrics {
	m := telemetry.NewMetrics("nodemonitor")
	unpublished := m.Counter("notices_unpublished_total", "Idle notices and reports that NATS did not take; they were sent by Thrift.")
	return &metrics{
		Metrics: m, slots: slots.NewMetrics(m, unpublished), results: results.NewMetrics(m, unpublished),
		inventory:  inventory.NewMetrics(m),
		superseded: m.Counter("batches_superseded_total", "Batches of processes that others have superseded under their name; they were answered and ignored."),
		unknown:    daemon.NewKindRefusals(m),
		refused:    m.Counter("hellos_refused_total", "Hellos of this node that its master refused; the reason is in its log and on /status."),
	}
}

// Metrics returns the metrics that a node monitor exports, all at zero, for their
// documentation.
func Metrics() *telemetry.Metrics {
	m := newMetrics()
	m.WatchTracing(telemetry.Off())
	m.WatchMessages(func() uint64 { return 0 })
	m.WatchInbox(func() uint64 { return 0 })
	m.WatchMisdirected(func() uint64 { return 0 })
	m.watchNotices(func() notice.Stats { return notice.Stats{} }, func() bool { return false })
	m.watchBackends(func() app.Stats { return app.Stats{} })
	m.watchGrants(func() grants.Stats { return grants.Stats{} })
	m.watchMessages(func() relay.Stats { return relay.Stats{} })
	m.watchDrain(func() bool { return false })
	m.watchDisk(func() bool { return false })
	m.watchGuard(func() guard.Health { return guard.Health{} }, func() uint64 { return 0 })
	m.watchLimits(func() string { return "" })
	m.watchLogs(func() logs.Stats { return logs.Stats{} })
	for _, kind := range []daemon.FileKind{daemon.ApplicationFiles, daemon.StagedFiles} {
		daemon.WatchFiles(m.Metrics, kind, func() filestore.Stats { return filestore.Stats{} })
	}
	daemon.WatchCredentials(nil, m.Metrics)
	daemon.WatchAudit(nil, m.Metrics)
	daemon.WatchServers(func() server.Stats { return server.Stats{} }, m.Metrics)
	return m.Metrics
}

// watchDrain exports whether the node takes nothing new.
func (m *metrics) watchDrain(draining func() bool) {
	m.GaugeIf("draining", "1 while the node takes nothing new: it drains, is drained, waits for running tasks before it stops, or has a faulty disk or guard.", draining)
}

// watchDisk exports whether the disk of the work folder is at fault.
func (m *metrics) watchDisk(faulty func() bool) {
	m.GaugeIf("disk_faulty", "1 while the disk of the work folder does not take what tasks write: the node takes nothing new until it does.", faulty)
}

// watchGuard exports the health of the guard.
func (m *metrics) watchGuard(health func() guard.Health, strays func() uint64) {
	m.GaugeIf("guard_faulty", "1 while the guard, which starts and kills the processes of tasks, does not answer: the node takes nothing new until it does.", func() bool { return health().Fault != "" })
	m.CounterFunc("guard_faults_total", "How often the guard did not answer within two seconds, or ended without being told to.", func() float64 { return float64(health().Faults) })
	m.CounterFunc("stray_processes_total", "Processes that were killed because they had outlived their attempt outside of its process group (setsid).", func() float64 { return float64(strays()) })
}

// watchLimits exports how the limits of tasks are enforced.
func (m *metrics) watchLimits(by func() string) {
	ways := []string{"cgroup", "rlimit"}
	m.GaugeFuncs("limits_enforced", "1 for the means by which the limits of tasks are enforced: a delegated cgroup v2, or rlimits, which limit the memory of each process only.",
		telemetry.Label{Name: "by", Values: ways}, func(way int) float64 {
			if by() == ways[way] {
				return 1
			}
			return 0
		})
}

// watchLogs exports which reads of outputs were refused.
func (m *metrics) watchLogs(stats func() logs.Stats) {
	m.CounterFuncs("log_reads_refused_total", "Reads of outputs of exec tasks that were refused, by reason: the task had put something else in the place of its output (irregular), or the disk failed (unreadable).",
		telemetry.Label{Name: "reason", Values: []string{"irregular", "unreadable"}}, func(reason int) float64 {
			s := stats()
			return float64([]uint64{s.Irregular, s.Unreadable}[reason])
		})
}

// watchMessages exports what happened to the messages of backends.
func (m *metrics) watchMessages(stats func() relay.Stats) {
	m.CounterFuncs("messages_relayed_total", "Messages of backends to their applications, by fate.",
		telemetry.Label{Name: "fate", Values: []string{"delivered", "refused", "dropped"}}, func(fate int) float64 {
			s := stats()
			return float64([]uint64{s.Delivered, s.Refused, s.Dropped}[fate])
		})
}

// watchNotices exports what happened to notices.
func (m *metrics) watchNotices(stats func() notice.Stats, connected func() bool) {
	m.CounterFunc("nats_unsent_total", "Notices that NATS did not take or that were dropped from its queue.", func() float64 { return float64(stats().Unsent) })
	m.CounterFunc("nats_overrun_total", "Acknowledgements dropped because too many waited.", func() float64 { return float64(stats().Overrun) })
	m.GaugeIf("nats_connected", "1 while the NATS server is reachable.", connected)
}

// watchBackends exports what the registry of backends counts.
func (m *metrics) watchBackends(stats func() app.Stats) {
	m.GaugeFunc("backends", "Backend processes of applications registered now.", func() float64 {
		s := stats()
		return float64(s.Registered - s.Gone)
	})
	m.CounterFunc("backend_launches_total", "Tasks launched in backend processes.", func() float64 { return float64(stats().Launches) })
	m.CounterFunc("backend_rests_total", "How often a backend that did not answer was offered no tasks for a while.", func() float64 { return float64(stats().Rested) })
	m.CounterFunc("backend_reports_ignored_total", "Ends that backends reported of tasks they did not run, or reported twice.", func() float64 {
		s := stats()
		return float64(s.Unknown + s.Repeated)
	})
}

// watchGrants exports what the table of grants counts.
func (m *metrics) watchGrants(stats func() grants.Stats) {
	m.CounterFunc("grants_total", "Grants that reached an executor.", func() float64 { return float64(stats().Granted) })
	ends := []func(grants.Stats) uint64{
		func(s grants.Stats) uint64 { return s.Used }, func(s grants.Stats) uint64 { return s.Declined }, func(s grants.Stats) uint64 { return s.Unfit },
		func(s grants.Stats) uint64 { return s.Lost }, func(s grants.Stats) uint64 { return s.Failed },
	}
	m.CounterFuncs("grants_ended_total", "Grants that ended, by how: a piece of work ran, the application returned it unused, its executor could not use it, no executor fetched it in time, or its executor ended.",
		telemetry.Label{Name: "how", Values: []string{"used", "declined", "unfit", "lost", "failed"}}, func(i int) float64 { return float64(ends[i](stats())) })
	m.GaugeFunc("grants_held", "Grants that executors hold now.", func() float64 { return float64(stats().Held) })
}
