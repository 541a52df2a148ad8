package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// deliveries accepts batches of other daemons into the inbox of the owner goroutine.
type deliveries struct {
	node        string
	incarnation int64
	master      wire.Ref
	inbox       *link.Inbox
	waiting     *daemon.ByteLimit
	post        func(event) error
	superseded  prometheus.Counter
	numbered    func() bool // reports whether the workers have their cores
	continues   bool        // this process has taken over attempts: numbered is set when its hello is answered

	// Where workers exchange messages with frontends and other nodes.
	sessions   *membership.Sessions // nil: only the master's messages are accepted
	refreshNow func()               // requests the newest membership
	// fullness returns why no launch for a frontend is accepted now, "" when one is.
	fullness func(owner sched.Addr, byMaster bool) string
}

var _ wire.BatchReceiver = (*deliveries)(nil)

// Deliver accepts messages of the master and, where workers exchange messages with others,
// of the frontends and nodes on the membership.
func (d *deliveries) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	if b.Sender.Daemon() != d.master {
		r, answered, err := d.answerOther(b)
		if answered || err != nil {
			return r, err
		}
	}
	if d.continues && !d.numbered() {
		// The batch may be meant for the previous process, whose attempts this one has: the
		// master must know that before it notices that this is another process.
		return wire.BatchReply{}, d.busy("it was started again and its hello is not answered yet")
	}
	if len(b.Items) > 0 && !d.numbered() {
		// The master sends as soon as it has numbered the workers, and its messages may
		// overtake its answer to the hello. It opens the link, without messages, before.
		return wire.BatchReply{}, d.busy("its workers have no numbers yet: the answer to its hello has not arrived")
	}
	if why := d.noRoom(b); why != "" {
		return wire.BatchReply{}, d.busy(why)
	}
	at := time.Now()
	return d.inbox.Accept(b, func(b *wire.Batch) (string, error) {
		bytes, err := d.waiting.Enter(b)
		if err != nil {
			return "", d.busy(err.Error())
		}
		if err = d.enter(event{kind: delivered, batch: b, at: at, bytes: bytes}); err != nil {
			d.waiting.Leave(bytes)
		}
		return "", err
	})
}

// answerOther answers a batch of a daemon other than the master, unless it may be accepted.
func (d *deliveries) answerOther(b *wire.Batch) (r wire.BatchReply, answered bool, err error) {
	if d.sessions == nil || b.Sender.Role == sched.Master {
		r.Problem = fmt.Sprintf("node %q works for %v, not for %v; correct the group or the master's address of one of them", d.node, d.master, b.Sender)
		return r, true, nil
	}
	switch d.sessions.Status(b.Sender, b.Incarnation) {
	case protocol.Current:
		return r, false, nil
	case protocol.Superseded:
		d.superseded.Inc()
		return wire.BatchReply{Incarnation: d.incarnation, Sequence: b.Sequence}, true, nil
	default:
		d.refreshNow()
		return r, true, d.busy(fmt.Sprintf("%v is not on the membership here", b.Sender))
	}
}

// noRoom returns why the work that a batch brings is not accepted now, "" when it is.
func (d *deliveries) noRoom(b *wire.Batch) string {
	if d.sessions == nil {
		return "" // the workers refuse launches one by one
	}
	for i := range b.Items {
		if m := &b.Items[i].Msg; m.Kind == sched.Launch {
			if why := d.fullness(m.Distributor, b.Sender.Role == sched.Master); why != "" {
				return why
			}
		}
	}
	return ""
}

// busy returns an error that makes the sender try again in a moment.
func (d *deliveries) busy(what string) error {
	return &api.Error{
		Problem: api.Busy, What: what, Subject: fmt.Sprintf("node %q", d.node),
		Tried: "accepting messages", Next: "send them again", RetryAfter: 10 * time.Millisecond,
	}
}

// enter puts a batch into the inbox of the owner goroutine.
func (d *deliveries) enter(e event) error {
	err := d.post(e)
	var full *runloop.FullError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full):
		return d.busy(err.Error())
	default:
		return &api.Error{
			Problem: api.NotReady, What: err.Error(), Subject: fmt.Sprintf("node %q", d.node),
			Tried: "accepting messages", Next: "wait until it has registered again",
		}
	}
}
