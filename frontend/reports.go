package frontend

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// notice accepts a batch of reports from NATS.
func (f *Frontend) notice(data []byte) {
	b, err := f.codec.Decode(data)
	if err == nil {
		err = b.CheckPeer()
	}
	if err != nil {
		f.metrics.unread.Inc()
		f.log.Warn("a report notice could not be read", "error", err)
		return
	}
	if err := f.post(func() { f.reported(b, true) }); err != nil {
		f.metrics.unread.Inc() // the node repeats it by Thrift
	}
}

// reported steps the reports of a node. With ack they are acknowledged by notice
// when what they changed is on the disk, also those that changed nothing.
func (f *Frontend) reported(b *wire.Batch, ack bool) (unknown []sched.JobID) {
	o := f.owner
	for i := range b.Items {
		it := &b.Items[i]
		if it.Msg.Kind != sched.Report {
			continue
		}
		if o.jobs.Known(it.Msg.Job) == nil {
			unknown = append(unknown, it.Msg.Job)
		}
		o.report = it
		o.dispatch.StepReport(it)
		o.report = nil
		f.metrics.reports.Inc()
		if ack {
			o.outbox.Effects().acknowledge(b.Sender.Name, it.Msg.AttemptID())
		}
	}
	return unknown
}

// Reports accepts repeated reports over Thrift and answers when they are on the
// disk.
func (f *Frontend) Reports(ctx context.Context, b *wire.Batch) (wire.ReportsReply, error) {
	type answer struct {
		reply wire.ReportsReply
		err   error
	}
	tried := "journaling results of node " + b.Sender.Name
	done := make(chan answer, 1)
	if err := f.post(func() {
		reply := wire.ReportsReply{Incarnation: f.process.Incarnation, Unknown: f.reported(b, false)}
		for i := range b.Items {
			reply.Acknowledged = append(reply.Acknowledged, b.Items[i].Msg.AttemptID())
		}
		f.metrics.byThrift.Add(float64(len(b.Items)))
		e := f.owner.outbox.Effects()
		e.replies = append(e.replies, func(err error) { done <- answer{reply, err} })
	}); err != nil {
		return wire.ReportsReply{}, f.mailbox.Refusal(err, tried)
	}
	a, err := daemon.Await(ctx, f.mailbox, tried, done)
	return a.reply, errors.Join(err, a.err)
}
