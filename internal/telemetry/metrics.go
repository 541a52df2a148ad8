package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Namespace begins the name of every metric.
const Namespace = "pigeon"

// Metrics is the registry of one daemon. Its constructors panic on a name that
// is invalid or registered twice, which is a mistake in the program text and
// shows at the first start.
type Metrics struct {
	Registry     *prometheus.Registry
	role         string
	descriptions []Description
}

// NewMetrics returns a registry with the collectors of the process and of the
// Go runtime. Metric names begin with pigeon_<role>_.
func NewMetrics(role string) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry(), role: role}
	m.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// LatencyBuckets returns upper bounds in seconds from 100 us to 1000 s, three to
// a decade: a queueing delay can be any of them within one run.
func LatencyBuckets() []float64 {
	return []float64{
		1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5,
		1, 2, 5, 10, 20, 50, 100, 200, 500, 1000,
	}
}

// Counter registers a counter.
func (m *Metrics) Counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts(m.opts(name, help)))
	m.register(c, name, counter, help)
	return c
}

// Counters registers a counter with one label and returns the child of each
// value, in their order, so that the path of a task indexes a slice (6 ns) and
// never looks a label up.
func (m *Metrics) Counters(name, help, label string, values ...string) []prometheus.Counter {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts(m.opts(name, help)), []string{label})
	m.register(vec, name, counter, help, Label{label, values})
	return children(values, func(v string) prometheus.Counter { return vec.WithLabelValues(v) })
}

// Gauge registers a gauge.
func (m *Metrics) Gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts(m.opts(name, help)))
	m.register(g, name, gauge, help)
	return g
}

// GaugeMatrix registers a gauge with two labels and returns, for each value of
// the first, the children of the values of the second.
func (m *Metrics) GaugeMatrix(name, help string, rows, columns Label) [][]prometheus.Gauge {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts(m.opts(name, help)), []string{rows.Name, columns.Name})
	m.register(vec, name, gauge, help, rows, columns)
	return children(rows.Values, func(row string) []prometheus.Gauge {
		return children(columns.Values, func(column string) prometheus.Gauge { return vec.WithLabelValues(row, column) })
	})
}

// GaugeFunc registers a gauge that is read when it is scraped; read must be
// safe to call from any goroutine and must not wait for the owner of a core.
func (m *Metrics) GaugeFunc(name, help string, read func() float64) {
	m.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts(m.opts(name, help)), read), name, gauge, help)
}

// GaugeIf is GaugeFunc for a condition: 1 while it holds, else 0.
func (m *Metrics) GaugeIf(name, help string, holds func() bool) {
	m.GaugeFunc(name, help, func() float64 {
		if holds() {
			return 1
		}
		return 0
	})
}

// GaugeFuncs is GaugeFunc with one label: read gets the index of the label's
// value.
func (m *Metrics) GaugeFuncs(name, help string, label Label, read func(value int) float64) {
	m.describe(name, gauge, help, label)
	for i, v := range label.Values {
		o := m.opts(name, help)
		o.ConstLabels = prometheus.Labels{label.Name: v}
		m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(o), func() float64 { return read(i) }))
	}
}

// CounterFunc registers a counter kept elsewhere; the rule of GaugeFunc holds.
func (m *Metrics) CounterFunc(name, help string, read func() float64) {
	m.register(prometheus.NewCounterFunc(prometheus.CounterOpts(m.opts(name, help)), read), name, counter, help)
}

// CounterFuncs is GaugeFuncs for counters.
func (m *Metrics) CounterFuncs(name, help string, label Label, read func(value int) float64) {
	m.describe(name, counter, help, label)
	for i, v := range label.Values {
		o := m.opts(name, help)
		o.ConstLabels = prometheus.Labels{label.Name: v}
		m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts(o), func() float64 { return read(i) }))
	}
}

// Latencies registers a histogram of seconds with one label and returns the
// child of each value, in their order.
func (m *Metrics) Latencies(name, help, label string, values ...string) []prometheus.Observer {
	o := m.opts(name, help)
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: o.Namespace, Subsystem: o.Subsystem, Name: o.Name, Help: o.Help, Buckets: LatencyBuckets(),
	}, []string{label})
	m.register(vec, name, histogram, help, Label{label, values})
	return children(values, func(v string) prometheus.Observer { return vec.WithLabelValues(v) })
}

// WatchTracing exports what became of the sampled spans.
func (m *Metrics) WatchTracing(t *Tracing) {
	for _, c := range []struct {
		name, help string
		read       func(Stats) uint64
	}{
		{"spans_exported_total", "Sampled spans accepted by the OTLP receiver.", func(s Stats) uint64 { return s.Exported }},
		{"spans_dropped_total", "Sampled spans dropped because the queue was full.", func(s Stats) uint64 { return s.Dropped }},
		{"spans_failed_total", "Sampled spans that the OTLP receiver refused or did not receive.", func(s Stats) uint64 { return s.Failed }},
	} {
		m.CounterFunc(c.name, c.help, func() float64 { return float64(c.read(t.Stats())) })
	}
}

// WatchInbox exports how many batches had no room in a daemon's inbox.
func (m *Metrics) WatchInbox(refused func() uint64) {
	m.CounterFuncs("batches_refused_total", "Batches of other daemons that were refused and are sent again, by reason: no room for their bytes in the inbox.",
		Label{Name: "reason", Values: []string{"inbox_bytes"}}, func(int) float64 { return float64(refused()) })
}

// WatchMessages exports how many messages the daemon's cores have sent to others
// (runloop.Stepper.Messages), under one name in all roles: their sum over the
// tasks that ended is what the papers call messages per task.
func (m *Metrics) WatchMessages(read func() uint64) {
	m.CounterFunc("core_messages_total", "Messages that the cores of this daemon sent to other cores; a batch of k tasks counts k.",
		func() float64 { return float64(read()) })
}

// WatchMisdirected exports how many batches were meant for another daemon
// (link.Inbox.Misdirected).
func (m *Metrics) WatchMisdirected(read func() uint64) {
	m.CounterFunc("batches_misdirected_total", "Batches refused because they are meant for another daemon, which served at this address before.",
		func() float64 { return float64(read()) })
}

func (m *Metrics) register(c prometheus.Collector, name, kind, help string, labels ...Label) {
	m.Registry.MustRegister(c)
	m.describe(name, kind, help, labels...)
}

func (m *Metrics) opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: Namespace, Subsystem: m.role, Name: name, Help: help}
}

func children[T any](values []string, child func(string) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = child(v)
	}
	return out
}
