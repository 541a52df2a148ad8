package frontend

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// notice accepts a batch of reports from NATS. publisher is the node's name in its form for
// subjects, "" where the subject has none.
func (f *Frontend) notice(publisher string, data []byte) {
	b, err := f.codec.Decode(data)
	if err == nil {
		err = errors.Join(b.CheckPeer(), notice.CheckPublisher(publisher, b.Sender.Name))
	}
	if err == nil {
		err = f.misdirected(b)
	}
	if err != nil {
		f.metrics.unread.Inc()
		if omitted, due := f.unreadable.Due(publisher); due {
			f.log.Warn("a report notice could not be read", "node", publisher, "omitted", omitted, "error", err)
		}
		return
	}
	if err := f.postBatch(b, func() {
		if reports := f.stepReports(b, f.believesNotices()); len(reports.attempts) > 0 {
			f.owner.outbox.Effects().acknowledge(b.Sender.Name, reports)
		}
	}); err != nil {
		f.metrics.unread.Inc() // the node repeats it by Thrift
	}
}

// stepReports steps the reports of a node's batch and returns what is to be acknowledged
// when what the reports changed is on the disk. It includes the reports that changed
// nothing, and leaves out those whose secret is not that of the launch: they end nothing.
// bare reports whether reports without any secret are believed.
func (f *Frontend) stepReports(b *wire.Batch, bare bool) acknowledgement {
	o, a := f.owner, acknowledgement{make([]sched.AttemptID, 0, len(b.Items)), make([]int64, 0, len(b.Items))}
	for i := range b.Items {
		it := &b.Items[i]
		if it.Msg.Kind != sched.Report {
			continue
		}
		if !o.secrets.Proves(it.Msg.AttemptID(), it.Secret) && (it.Secret != 0 || !bare) {
			// Of a job that is not known, as one of a lost journal, the node learns so by Thrift.
			if o.jobs.Known(it.Msg.Job) != nil {
				f.disbelieve(b, it)
			}
			continue
		}
		o.grants.reported(it)
		o.report = it
		o.dispatch.StepReport(it)
		if r, ok := o.jobs.Unused(it); ok {
			o.outbox.Add(r)
		}
		a.attempts, a.numbers = append(a.attempts, it.Msg.AttemptID()), append(a.numbers, it.ResultNumber)
	}
	o.report = nil
	f.metrics.reports.Add(float64(len(a.attempts)))
	return a
}

// unknownJobs returns the jobs of a batch's reports that this frontend does not have.
func (o *owner) unknownJobs(b *wire.Batch) (unknown []sched.JobID) {
	for i := range b.Items {
		if m := &b.Items[i].Msg; m.Kind == sched.Report && o.jobs.Known(m.Job) == nil {
			unknown = append(unknown, m.Job)
		}
	}
	return unknown
}

// misdirected refuses reports that are meant for another frontend: it served at this
// address before, and this one knows none of its jobs.
func (f *Frontend) misdirected(b *wire.Batch) error {
	if b.Receiver.Role == sched.Distributor && b.Receiver.Name == f.cfg.ID {
		return nil
	}
	f.metrics.misdirected.Inc()
	return reportsForAnother(b, f.cfg.ID)
}

// Reports accepts repeated reports over Thrift and returns when they are on the disk.
func (f *Frontend) Reports(ctx context.Context, b *wire.Batch) (wire.ReportsReply, error) {
	type answer struct {
		reply wire.ReportsReply
		err   error
	}
	if err := f.misdirected(b); err != nil {
		return wire.ReportsReply{}, err
	}
	tried, bare := "journaling results of node "+b.Sender.Name, identity.From(ctx).Role == identity.Superuser
	done := make(chan answer, 1)
	if err := f.post(func() {
		reply := wire.ReportsReply{Sender: f.cfg.ID, Incarnation: f.process.Incarnation, Unknown: f.owner.unknownJobs(b)}
		reply.Acknowledged = f.stepReports(b, bare).attempts
		f.metrics.byThrift.Add(float64(len(b.Items)))
		e := f.owner.outbox.Effects()
		e.replies = append(e.replies, func(err error) { done <- answer{reply, err} })
	}); err != nil {
		return wire.ReportsReply{}, f.mailbox.Refusal(err, tried)
	}
	a, err := daemon.Await(ctx, f.mailbox, tried, done)
	return a.reply, errors.Join(err, a.err)
}
