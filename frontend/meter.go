package frontend

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// meter counts what the frontend does. Its counters may be read from anywhere.
type meter struct {
	metrics    *telemetry.Metrics
	jobs       []prometheus.Counter  // accepted, by class
	ends       []prometheus.Counter  // by state, in the order of endStates
	completion []prometheus.Observer // of jobs, by class
	queueing   []prometheus.Observer // of tasks, by class
	refusals   prometheus.Counter
	retries    []prometheus.Counter // lost, failed
	reports    prometheus.Counter
	again      prometheus.Counter
	unread     prometheus.Counter
	reprobed   prometheus.Counter
	tasks      atomic.Int64
	unfinished atomic.Int64
	repeated   atomic.Uint64
	stale      atomic.Uint64
}

var endStates = []api.State{api.StateCompleted, api.StateFailed, api.StateCancelled}

func newMeter() *meter {
	m := telemetry.NewMetrics("frontend")
	classes := []string{sched.Short.String(), sched.Long.String()}
	e := &meter{
		metrics:    m,
		jobs:       m.Counters("jobs_accepted_total", "Jobs accepted.", "class", classes...),
		ends:       m.Counters("jobs_ended_total", "Jobs ended.", "state", "completed", "failed", "cancelled"),
		completion: m.Latencies("completion_seconds", "Completion time of jobs, from submission to the last task's end.", "class", classes...),
		queueing:   m.Latencies("queueing_seconds", "Time a task waited, from its job's arrival to its start.", "class", classes...),
		refusals:   m.Counter("jobs_refused_total", "Submissions refused."),
		retries:    m.Counters("attempts_again_total", "Tasks tried again, by what became of the attempt before.", "why", "lost", "failed"),
		reports:    m.Counter("reports_total", "Results taken, first and repeated."),
		again:      m.Counter("reports_by_thrift_total", "Results that came over Thrift because no acknowledgement had come."),
		reprobed:   m.Counter("jobs_probed_again_total", "Jobs probed for again because no worker had asked for their tasks after daemons came or went."),
		unread:     m.Counter("garbled_notices_total", "Notices that could not be read or taken."),
	}
	m.GaugeFunc("unfinished_tasks", "Tasks accepted and not ended.", func() float64 { return float64(e.tasks.Load()) })
	m.GaugeFunc("unfinished_jobs", "Jobs accepted and not ended.", func() float64 { return float64(e.unfinished.Load()) })
	m.CounterFunc("reports_repeated_total", "Results that came again or too late; they are only counted.", func() float64 { return float64(e.repeated.Load()) })
	m.CounterFunc("stale_messages_total", "Batches and messages of nodes and frontends that were lost or restarted, or that are not theirs to say, ignored.", func() float64 { return float64(e.stale.Load()) })
	return e
}

func (e *meter) accepted(j *job)       { e.jobs[j.sub.Class].Inc() }
func (e *meter) refused()              { e.refusals.Inc() }
func (e *meter) reported()             { e.reports.Inc() }
func (e *meter) repeatedReports(n int) { e.again.Add(float64(n)) }
func (e *meter) garbled()              { e.unread.Inc() }
func (e *meter) publish(o *owner) {
	owed := o.core.Owed()
	e.tasks.Store(int64(owed.Tasks))
	e.unfinished.Store(int64(owed.Jobs))
	e.repeated.Store(owed.Repeated)
}

func (e *meter) retried(why sched.Outcome) {
	if why == sched.Failed {
		e.retries[1].Inc()
		return
	}
	e.retries[0].Inc()
}

// taskEnded observes how long a task waited: what passed since its job's arrival
// less what its node says it ran.
func (e *meter) taskEnded(c sched.Class, since sched.Time, elapsed time.Duration) {
	e.queueing[c].Observe(max(0, since.Seconds()-elapsed.Seconds()))
}

func (e *meter) jobEnded(j *job) {
	for i, s := range endStates {
		if j.final.State == s {
			e.ends[i].Inc()
		}
	}
	if j.final.State == api.StateCompleted {
		e.completion[j.sub.Class].Observe(j.final.Seconds)
	}
}

// watchListeners exports what becomes of the messages to applications.
func (e *meter) watchListeners(l *listeners.Listeners) {
	e.metrics.GaugeFunc("messages_waiting", "Messages that wait for their application.", func() float64 { return float64(l.Stats().Waiting) })
	e.metrics.CounterFunc("messages_delivered_total", "Messages that their application took.", func() float64 { return float64(l.Stats().Delivered) })
	e.metrics.CounterFunc("messages_lost_total", "Messages given up: their application did not answer, or could not be reached for too long.", func() float64 { s := l.Stats(); return float64(s.Dropped + s.Refused) })
}
