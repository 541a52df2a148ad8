package telemetry

import "slices"

// Types of metrics, in Prometheus's words.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// Label is a label of a metric and all its values.
type Label struct {
	Name   string
	Values []string
}

// Description is what docs/metrics.md lists of a metric. The function Metrics of
// each daemon's package returns all its metrics, also those that only some settings
// switch on.
type Description struct {
	Name   string // in full, pigeon_<role>_...
	Type   string // counter, gauge or histogram
	Help   string
	Labels []Label
}

// Descriptions returns the metrics registered so far, in the order of their
// registration. The collectors of the process and of the Go runtime are not
// among them.
func (m *Metrics) Descriptions() []Description { return slices.Clone(m.descriptions) }

func (m *Metrics) describe(name, kind, help string, labels ...Label) {
	m.descriptions = append(m.descriptions, Description{
		Name: Namespace + "_" + m.role + "_" + name, Type: kind, Help: help, Labels: labels,
	})
}
