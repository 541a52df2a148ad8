package master

import (
	"time"

	dto "github.com/prometheus/client_model/go"
)

// TasksRefused counts the tasks that a master has returned for their bytes.
func TasksRefused(m *Master) float64 {
	var d dto.Metric
	if err := m.owner.metrics.full.Write(&d); err != nil {
		return -1
	}
	return d.GetCounter().GetValue()
}

// ForgetAfter has a master that does not run yet forget peers that are gone for so long.
func ForgetAfter(m *Master, after time.Duration) { m.forgetAfter = after }

// Known counts the peers that a master has not forgotten: links, and senders of batches.
func Known(m *Master) (links, senders int) {
	done := make(chan struct{})
	m.post(func() { links, senders = m.owner.links.Len(), m.inbox.Len(); close(done) })
	<-done
	return links, senders
}

// RefusedHellos counts the hellos that a master has refused for a reason.
func RefusedHellos(m *Master, reason string) float64 {
	var d dto.Metric
	if err := m.owner.metrics.refused[reason].Write(&d); err != nil {
		return -1
	}
	return d.GetCounter().GetValue()
}
