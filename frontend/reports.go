package frontend

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// notice takes a batch of reports from NATS.
func (f *Frontend) notice(data []byte) {
	b, err := f.codec.Decode(data)
	if err == nil {
		err = b.CheckPeer()
	}
	if err != nil {
		f.owner.meter.garbled()
		f.log.Warn("a report notice could not be read", "error", err)
		return
	}
	if err := f.post(func() { f.owner.reported(b, true) }); err != nil {
		f.owner.meter.garbled() // the node repeats it by Thrift
	}
}

// reported steps the reports of a node. With ack they are acknowledged by notice
// when what they changed is on the disk, also those that changed nothing.
func (o *owner) reported(b *wire.Batch, ack bool) (unknown []sched.JobID) {
	node := b.Sender.Name
	for i := range b.Items {
		it := &b.Items[i]
		if it.Msg.Kind != sched.Report {
			continue
		}
		if o.known(it.Msg.Job) == nil {
			unknown = append(unknown, it.Msg.Job)
		}
		o.current, o.reporter = it, node
		o.step(o.addrOf(it.From), &it.Msg)
		o.current = nil
		o.meter.reported()
		if ack {
			o.batch.acknowledge(node, it.Msg.AttemptID())
		}
	}
	return unknown
}

// Reports takes repeated reports over Thrift and answers when they are on the
// disk.
func (f *Frontend) Reports(ctx context.Context, b *wire.Batch) (wire.ReportsReply, error) {
	type answer struct {
		reply wire.ReportsReply
		err   error
	}
	tried := "journaling results of node " + b.Sender.Name
	done := make(chan answer, 1)
	if err := f.post(func() {
		o := f.owner
		reply := wire.ReportsReply{Incarnation: f.incarnation, Unknown: o.reported(b, false)}
		for i := range b.Items {
			reply.Acknowledged = append(reply.Acknowledged, b.Items[i].Msg.AttemptID())
		}
		o.meter.repeatedReports(len(b.Items))
		o.batch.replies = append(o.batch.replies, func(err error) { done <- answer{reply, err} })
	}); err != nil {
		return wire.ReportsReply{}, f.door.Refusal(err, tried)
	}
	a, err := daemon.Await(ctx, f.door, tried, done)
	return a.reply, errors.Join(err, a.err)
}
