package master

import (
	"errors"
	"time"

	"github.com/pigeon-sched/pigeon/internal/leadership"
	"github.com/pigeon-sched/pigeon/thrift/wire"

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

// SetVersion makes a master that does not run yet state a version.
func SetVersion(m *Master, version string) { m.owner.version = version }

// ForgetAfter makes a master that does not run yet forget peers that have been gone for that long.
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

// Crash ends a master at once; it sends nothing any more. The store must have been set to
// forget its resignation.
func Crash(d *Daemon) {
	Pause(d)
	d.current().life.Fail(errors.New("the test ended it"))
}

// Pause makes a leader send nothing any more, as if its leadership were over,
// without its knowing; it still accepts connections.
func Pause(d *Daemon) {
	m := d.current()
	m.standing.candidate.Store(leadership.New(leadership.Options{}))
	settle(m) // OnLost posts, too
}

// Incarnation returns the process that a daemon is now.
func Incarnation(d *Daemon) int64 { return d.current().incarnation }

// Expects counts the daemons that a standby would wait for.
func Expects(d *Daemon) int {
	e := d.current().following.expected()
	return len(e.addresses)
}

// Receive makes a master step a message of a frontend as if it had been accepted before
// the master's leadership ended.
func Receive(d *Daemon, it wire.Item) {
	m := d.current()
	m.post(func() { m.owner.deliverTasks(m.owner.addrs.Addr(it.From), &it) })
	settle(m)
}

// settle returns when the posted functions have run, and the messages that they caused were sent or
// dropped.
func settle(m *Master) {
	for range 2 { // the second one begins after the batch of the first
		done := make(chan struct{})
		m.post(func() { close(done) })
		<-done
	}
}
