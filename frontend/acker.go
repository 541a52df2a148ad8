package frontend

import (
	"log/slog"

	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// acker acknowledges the results that are on the disk to their nodes, by notice. If a
// notice is lost, the node repeats its report.
type acker struct {
	log     *slog.Logger
	self    wire.Ref
	address string
	number  int64 // incarnation
	codec   *wire.Codec
	publish func(subject string, data []byte) error // nil without NATS
	subject func(node string) string
}

// acknowledge publishes one notice to each node.
func (a *acker) acknowledge(acks map[string]acknowledgement) {
	if a.publish == nil {
		return
	}
	for node, ack := range acks { // the order of the nodes does not matter
		data, err := a.codec.Append(nil, &wire.Batch{
			Sender: a.self, Receiver: wire.Ref{Role: sched.Worker, Name: node}, Address: a.address, Incarnation: a.number,
			Acknowledged: ack.attempts, ResultNumbers: ack.numbers,
		})
		if err == nil {
			err = a.publish(a.subject(node), data)
		}
		if err != nil {
			a.log.Debug("an acknowledgement was not published; the node repeats the report", "node", node, "error", err)
		}
	}
}
