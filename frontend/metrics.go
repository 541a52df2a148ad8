package frontend

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/dispatch"
	"github.com/pigeon-sched/pigeon/frontend/usage"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/filestore"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// metrics are the metrics of a frontend, grouped by the part that updates them. They may
// be read from anywhere.
type metrics struct {
	*telemetry.Metrics
	jobs     *jobMetrics
	dispatch *dispatch.Metrics
	refused  []prometheus.Counter // by refusalReasons
	reports  prometheus.Counter
	byThrift prometheus.Counter
	unread   prometheus.Counter

	misdirected prometheus.Counter
	disbelieved prometheus.Counter
	unknown     *daemon.KindRefusals
	inventories prometheus.Counter
	unwanted    prometheus.Counter
	events      []prometheus.Counter // by api.EventTypes
	inboxBytes  prometheus.Gauge
}

func newMetrics() *metrics {
	m := telemetry.NewMetrics("frontend")
	return &metrics{
		Metrics: m, jobs: newJobMetrics(m), dispatch: dispatch.NewMetrics(m),
		refused:  m.Counters("jobs_refused_total", "Submissions refused, by reason: a request that is not valid, a limit, the key of another job, a journal that accepts nothing.", "reason", refusalReasons...),
		reports:  m.Counter("reports_total", "Results received, first and repeated."),
		byThrift: m.Counter("reports_by_thrift_total", "Results that came over Thrift because no acknowledgement had come."),
		unread:   m.Counter("notices_unread_total", "Notices that could not be read or had no room."),

		misdirected: m.Counter("reports_misdirected_total", "Batches of results refused because they are meant for another frontend, which served at this address before."),
		disbelieved: m.Counter("reports_disbelieved_total", "Reports dropped because they did not contain the secret of the attempt's launch: their sender did not receive the attempt, or runs a version without launch secrets."),
		unknown:     daemon.NewKindRefusals(m),
		inventories: m.Counter("inventories_total", "Messages of nodes about what they hold of this frontend."),
		unwanted:    m.Counter("attempts_unwanted_total", "Attempts that nodes listed and that are not wanted: of jobs unknown here, of tasks that have ended, or of an earlier job under the same key."),
		events:      m.Counters("events_total", "Events for pigeon events, by type.", "type", api.EventTypes()...),
	}
}

// Metrics returns the metrics that a frontend exports, all zero, for the documentation.
func Metrics() *telemetry.Metrics {
	m := newMetrics()
	m.WatchTracing(telemetry.Off())
	m.WatchMessages(func() uint64 { return 0 })
	m.WatchMisdirected(func() uint64 { return 0 })
	m.watchListeners(func() relay.Stats { return relay.Stats{} })
	for _, kind := range []daemon.FileKind{daemon.ApplicationFiles, daemon.StagedFiles} {
		daemon.WatchFiles(m.Metrics, kind, func() filestore.Stats { return filestore.Stats{} })
	}
	m.watchWaiting(func() uint64 { return 0 })
	m.watchJournal(func() int64 { return 0 }, func() (expired, tooMany uint64) { return 0, 0 }, func() uint64 { return 0 })
	m.watchReplica(func() uint64 { return 0 }, func() (made, failed uint64) { return 0, 0 })
	m.watchStandby(func() bool { return false })
	m.watchHistory(func() usage.Stats { return usage.Stats{} })
	daemon.WatchCredentials(nil, m.Metrics)
	daemon.WatchAudit(nil, m.Metrics)
	daemon.WatchServers(func() server.Stats { return server.Stats{} }, m.Metrics)
	return m.Metrics
}

// watchHistory exports the counts of ended jobs kept for pigeon history.
func (m *metrics) watchHistory(stats func() usage.Stats) {
	m.GaugeFunc("history_jobs", "Ended jobs in the history that pigeon history shows, of at most history_limit.", func() float64 { return float64(stats().Kept) })
	m.CounterFuncs("history_dropped_total", "Ended jobs that are not in the history, because too many waited to be written (queue) or because they could not be written (write).",
		telemetry.Label{Name: "reason", Values: []string{"queue", "write"}}, func(reason int) float64 {
			s := stats()
			return float64([]int64{s.NoRoom, s.Failed}[reason])
		})
	m.CounterFuncs("history_removed_total", "Ended jobs removed from the history, because history_retention was over or because there were more than history_limit.",
		telemetry.Label{Name: "reason", Values: []string{"history_retention", "history_limit"}}, func(reason int) float64 {
			s := stats()
			return float64([]int64{s.Expired, s.Removed}[reason])
		})
}

// watchReplica exports the state of a replicated journal and of its snapshots.
func (m *metrics) watchReplica(bytes func() uint64, snapshots func() (made, failed uint64)) {
	m.GaugeFunc("journal_stream_bytes", "Bytes of the stream of a replicated journal, of at most journal_bytes.", func() float64 { return float64(bytes()) })
	m.CounterFuncs("journal_snapshots_total", "Snapshots of a replicated journal by this process, after which the stream is cut: made, or failed and tried again.",
		telemetry.Label{Name: "result", Values: []string{"made", "failed"}}, func(result int) float64 {
			made, failed := snapshots()
			return float64([]uint64{made, failed}[result])
		})
}

// watchStandby exports whether this process leads.
func (m *metrics) watchStandby(leads func() bool) {
	m.GaugeIf("leads", "1 while this process acts under the frontend's name, 0 while it is a standby. With a replicated journal only.", leads)
}

// watchWaiting exports what waits for the owner goroutine, and what had no room.
func (m *metrics) watchWaiting(refused func() uint64) {
	m.inboxBytes = m.Gauge("inbox_bytes", "Bytes of batches of other daemons that wait for the core.")
	m.CounterFunc("inbox_refused_total", "Batches of other daemons refused because inbox_bytes was reached; their senders try again.", func() float64 { return float64(refused()) })
}

// watchJournal exports how many ended jobs are known and how many were forgotten, and what
// the store takes of the memory.
func (m *metrics) watchJournal(kept func() int64, forgotten func() (expired, tooMany uint64), memory func() uint64) {
	m.GaugeFunc("journal_memory_bytes", "Bytes that the journal's store holds in memory: up to four tables of 32 MiB and a cache of 16 MiB.", func() float64 { return float64(memory()) })
	m.GaugeFunc("ended_jobs", "Ended jobs that are kept, so that their keys and states are known.", func() float64 { return float64(kept()) })
	m.CounterFuncs("ended_jobs_forgotten_total", "Ended jobs forgotten, because their retention was over or because there were more than max_ended.",
		telemetry.Label{Name: "reason", Values: []string{"retention", "max_ended"}}, func(reason int) float64 {
			expired, tooMany := forgotten()
			return float64([]uint64{expired, tooMany}[reason])
		})
}

// watchListeners exports what happens to the messages to applications.
func (m *metrics) watchListeners(stats func() relay.Stats) {
	m.GaugeFunc("messages_waiting", "Messages that wait for their application.", func() float64 { return float64(stats().Waiting) })
	m.CounterFuncs("messages_ended_total", "Messages to applications, by fate: delivered, refused because too many waited, or given up because the application did not answer or could not be reached for too long.",
		telemetry.Label{Name: "fate", Values: []string{"delivered", "refused", "dropped"}}, func(fate int) float64 {
			s := stats()
			return float64([]uint64{s.Delivered, s.Refused, s.Dropped}[fate])
		})
}
