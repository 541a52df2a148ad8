package jobs

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
)

// Metrics are the metrics of a table of jobs.
type Metrics struct {
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

// NewMetrics registers the metrics of a table of jobs.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	classes := []string{sched.Short.String(), sched.Long.String()}
	e := &Metrics{
		accepted:   m.Counters("jobs_accepted_total", "Jobs accepted.", "class", classes...),
		byOwner:    m.OwnerCounters("owner_jobs_accepted_total", "Jobs accepted, by owner."),
		ends:       m.Counters("jobs_ended_total", "Jobs ended.", "state", "completed", "failed", "cancelled"),
		completion: m.Latencies("completion_seconds", "Completion time of jobs, from submission, or from the end of the last job after which it starts, to the last task's end.", "class", classes...),
		queueing:   m.Latencies("queueing_seconds", "Time a task waited, from its job's arrival, or from the end of the last job after which it starts, to its start.", "class", classes...),
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
func (e *Metrics) Repeated() uint64 { return e.repeated.Load() }

func (e *Metrics) owed(o sched.Owed, held int64) {
	e.held.Store(held)
	e.tasks.Store(int64(o.Tasks))
	e.unfinished.Store(int64(o.Jobs))
	e.repeated.Store(o.Repeated)
}

func (e *Metrics) accept(j *Job) {
	e.accepted[j.Submission.Class].Inc()
	e.classified[j.Submission.Origin].Inc()
	e.byOwner.WithLabelValues(e.owners.Of(j.Status.Owner)).Inc()
}

func (e *Metrics) retried(why sched.Outcome) {
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
func (e *Metrics) taskEnded(j *Job, since sched.Time, elapsed time.Duration) {
	telemetry.ObserveTraced(e.queueing[j.Class()], max(0, since.Seconds()-elapsed.Seconds()), telemetry.Carrier(j.trace.carrier))
}

func (e *Metrics) jobEnded(j *Job, since sched.Time) {
	for i, s := range endStates {
		if j.final.State == s {
			e.ends[i].Inc()
		}
	}
	if j.final.State == api.StateCompleted {
		telemetry.ObserveTraced(e.completion[j.Class()], since.Seconds(), telemetry.Carrier(j.trace.carrier))
	}
}
