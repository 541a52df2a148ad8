package daemon

import (
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// serverStats returns the counts of the daemon's Thrift servers, all together.
func (l *Lifecycle) serverStats() (sum server.Stats) {
	l.opening.Lock()
	defer l.opening.Unlock()
	for _, s := range l.servers {
		sum.Add(s.Stats())
	}
	return sum
}

// WatchServers exports what the Thrift servers of a daemon count.
func WatchServers(stats func() server.Stats, m *telemetry.Metrics) {
	m.GaugeFunc("connections", "Connections that are open to this daemon's Thrift ports.", func() float64 { return float64(stats().Open) })
	m.GaugeFunc("frame_bytes", "Bytes of messages, beyond 8 KiB a connection, that this daemon's Thrift ports have received and not answered.", func() float64 { return float64(stats().Memory) })
	var reasons []string
	for _, r := range server.Reasons() {
		reasons = append(reasons, r.String())
	}
	m.CounterFuncs("connections_ended_total", "Connections to this daemon's Thrift ports that ended or were refused, by reason: finished is the usual end, and docs/operations.md explains the others.",
		telemetry.Label{Name: "reason", Values: reasons}, func(reason int) float64 { return float64(stats().Ended[reason]) })
	m.CounterFunc("handler_panics_total", "Calls whose handler panicked; the stack is in the log.", func() float64 { return float64(stats().Panics) })
}
