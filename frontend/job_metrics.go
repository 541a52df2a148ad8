package frontend

import (
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/frontend/jobs"
	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/classes"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// jobMetrics are the metrics of the table of jobs.
type jobMetrics struct {
	owner      *owner               // set before the first job
	accepted   []prometheus.Counter // by class
	byOwner    *prometheus.CounterVec
	owners     telemetry.OwnerLabels
	ends       []prometheus.Counter  // by state, in the order of endStates
	completion []prometheus.Observer // of jobs, by class
	queueing   []prometheus.Observer // of tasks, by class
	retries    []prometheus.Counter  // lost, failed, given back
	classified []prometheus.Counter  // by classes.Origin
	tasks      atomic.Int64
	unfinished atomic.Int64
	held       atomic.Int64
	repeated   atomic.Uint64
	works      atomic.Int64
	apart      atomic.Int64
}

var endStates = []api.State{api.StateCompleted, api.StateFailed, api.StateCancelled}

// newJobMetrics registers the metrics of the table of jobs.
func newJobMetrics(m *telemetry.Metrics) *jobMetrics {
	names := []string{sched.Short.String(), sched.Long.String()}
	e := &jobMetrics{
		accepted:   m.Counters("jobs_accepted_total", "Jobs accepted.", "class", names...),
		byOwner:    m.OwnerCounters("owner_jobs_accepted_total", "Jobs accepted, by owner."),
		ends:       m.Counters("jobs_ended_total", "Jobs ended.", "state", "completed", "failed", "cancelled"),
		completion: m.Latencies("completion_seconds", "Completion time of jobs, from submission, or from the end of the last job after which it starts, to the last task's end.", "class", names...),
		queueing:   m.Latencies("queueing_seconds", "Time a task waited, from its job's arrival, or from the end of the last job after which it starts, to its start.", "class", names...),
		retries:    m.Counters("attempts_again_total", "Tasks tried again, by what became of the attempt before.", "reason", "lost", "failed", "given_back"),
		classified: m.Counters("jobs_classified_total", "Jobs accepted, by how their class was decided: declared by the submitter, the default (classes: declared), learned from earlier jobs of the same work, undeclared (nothing is known yet: the default), or overruled because too much of the short tasks of their owner was past the cutoff.", "origin", originNames()...),
	}
	m.GaugeFunc("unfinished_tasks", "Tasks accepted and not ended.", func() float64 { return float64(e.tasks.Load()) })
	m.GaugeFunc("unfinished_jobs", "Jobs accepted and not ended.", func() float64 { return float64(e.unfinished.Load()) })
	m.GaugeFunc("held_jobs", "Jobs held until the jobs after which they start have ended; they and their tasks count as unfinished, too.", func() float64 { return float64(e.apart.Load()) })
	m.GaugeFunc("held_bytes", "Bytes of the requests of unfinished jobs, as the limit max_bytes counts them; payloads that are equal within a job count once.", func() float64 { return float64(e.held.Load()) })
	m.GaugeFunc("works_known", "Works, by owner and name, of which it is known how long their tasks took.", func() float64 { return float64(e.works.Load()) })
	m.CounterFunc("reports_repeated_total", "Results that came again or too late; they are only counted.", func() float64 { return float64(e.repeated.Load()) })
	return e
}

// Repeated returns how many results were repeated or came too late.
func (e *jobMetrics) Repeated() uint64 { return e.repeated.Load() }

var _ jobs.Observer = (*jobMetrics)(nil)

// Observe counts.
func (e *jobMetrics) Observe(c jobs.Change) {
	switch c.Kind {
	case jobs.Added:
		e.accepted[c.Job.Submission.Class].Inc()
		e.classified[c.Job.Submission.Origin].Inc()
		e.byOwner.WithLabelValues(e.owners.Of(c.Job.Status.Owner)).Inc()
	case jobs.Recorded:
		e.recorded(&c)
	case jobs.BatchEnded:
		e.sum()
	default:
	}
}

func (e *jobMetrics) recorded(c *jobs.Change) {
	switch {
	case c.Tries():
		for range max(c.Record.Count, 1) {
			e.retried(c.Record.Outcome)
		}
	case c.Ends() && c.Report != nil:
		e.taskEnded(c)
	case c.Record.Kind == journal.JobEnded:
		e.jobEnded(c)
	}
}

// sum exports the sums over the unfinished jobs.
func (e *jobMetrics) sum() {
	owed, apart := e.owner.dispatch.Owed(), e.owner.jobs.Apart()
	e.held.Store(e.owner.held.HeldBytes())
	e.tasks.Store(int64(owed.Tasks + apart.Tasks))
	e.unfinished.Store(int64(owed.Jobs + apart.Jobs))
	e.repeated.Store(owed.Repeated)
	e.apart.Store(int64(apart.Jobs))
	e.works.Store(int64(e.owner.learning.Works()))
}

func (e *jobMetrics) retried(why sched.Outcome) {
	switch why {
	case sched.Failed:
		e.retries[1].Inc()
	case sched.Yielded:
		e.retries[2].Inc()
	default:
		e.retries[0].Inc()
	}
}

// taskEnded observes how long a task waited: the time since its job's arrival less the
// run time that its node measured.
func (e *jobMetrics) taskEnded(c *jobs.Change) {
	wait := max(0, (c.Now-c.Job.Due).Seconds()-c.Report.Elapsed.Seconds())
	telemetry.ObserveTraced(e.queueing[c.Job.Class()], wait, e.owner.traces.Carrier(c.Job))
}

func (e *jobMetrics) jobEnded(c *jobs.Change) {
	state := c.Record.Ended.Status.State
	e.ends[slices.Index(endStates, state)].Inc()
	if state == api.StateCompleted {
		telemetry.ObserveTraced(e.completion[c.Job.Class()], (c.Now - c.Job.Due).Seconds(), e.owner.traces.Carrier(c.Job))
	}
}

// originNames are the values of the label of jobs by how their class was decided.
func originNames() (names []string) {
	for o := range classes.NumOrigins {
		names = append(names, o.String())
	}
	return names
}
