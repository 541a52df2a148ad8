package master

import dto "github.com/prometheus/client_model/go"

// RefusedHellos counts the hellos that a master has refused for a reason.
func RefusedHellos(m *Master, reason string) float64 {
	var d dto.Metric
	if err := m.owner.metrics.refused[reason].Write(&d); err != nil {
		return -1
	}
	return d.GetCounter().GetValue()
}
