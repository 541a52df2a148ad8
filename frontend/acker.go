package frontend

import (
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// acker acknowledges the results that are on the disk to their nodes, by notice. If a
// notice is lost, the node repeats its report.
type acker struct {
	frontend *Frontend
	conn     *notice.Conn // nil without NATS
}

// batch returns a notice to a node, or to all.
func (a *acker) batch(to wire.Ref) wire.Batch {
	f := a.frontend
	return wire.Batch{Sender: wire.Ref{Role: sched.Distributor, Name: f.cfg.ID}, Receiver: to, Address: f.process.Internal, Incarnation: f.process.Incarnation}
}

// publish publishes a notice, while this process acts under the frontend's name.
func (a *acker) publish(subject string, data []byte) error {
	if s := a.frontend.standby; s != nil {
		if err := s.closed(); err != nil {
			return err
		}
	}
	return a.conn.Publish(subject, data)
}

// acknowledge publishes one notice to each node.
func (a *acker) acknowledge(acks map[string]acknowledgement) {
	if a.conn == nil {
		return
	}
	f := a.frontend
	for node, ack := range acks { // the order of the nodes does not matter
		b := a.batch(wire.Ref{Role: sched.Worker, Name: node})
		b.Acknowledged, b.ResultNumbers = ack.attempts, ack.numbers
		data, err := f.codec.Append(nil, &b)
		if err == nil {
			err = a.publish(notice.AckSubject(f.cfg.Cluster, node), data)
		}
		if err != nil {
			f.log.Debug("an acknowledgement was not published; the node repeats the report", "node", node, "error", err)
		}
	}
}
