package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/membership"
	"github.com/pigeon-sched/pigeon/internal/membership/protocol"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// peers is what this node offers to other daemons.
type peers struct {
	node        string
	incarnation int64
	master      wire.Ref
	inbox       *link.Inbox
	logs        *logs.Store
	post        func(event) error
	superseded  prometheus.Counter

	// Where workers exchange messages with frontends and other nodes.
	sessions   *membership.Sessions // nil: only the master's messages are accepted
	refreshNow func()               // asks for the membership
	crowded    func() string        // why no launch is taken now, "" when one is
}

var (
	_ wire.BatchReceiver = (*peers)(nil)
	_ wire.LogReader     = (*peers)(nil)
)

// Deliver takes messages of the master and, where workers speak to others, of the
// frontends and nodes on the membership.
func (p *peers) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	if b.Sender.Daemon() != p.master {
		r, taken, err := p.answerOther(b)
		if taken || err != nil {
			return r, err
		}
	}
	if p.sessions != nil && launches(b) {
		if why := p.crowded(); why != "" {
			return wire.BatchReply{}, p.busy(why)
		}
	}
	at := time.Now()
	return p.inbox.Accept(b, func(b *wire.Batch) (string, error) { return "", p.enter(event{kind: delivered, batch: b, at: at}) })
}

// answerOther answers a batch that is not the master's, unless it is accepted.
func (p *peers) answerOther(b *wire.Batch) (r wire.BatchReply, answered bool, err error) {
	if p.sessions == nil || b.Sender.Role == sched.Master {
		r.Problem = fmt.Sprintf("node %q works for %v, not for %v; correct the group or the master's address of one of them", p.node, p.master, b.Sender)
		return r, true, nil
	}
	switch p.sessions.Status(b.Sender, b.Incarnation) {
	case protocol.Current:
		return r, false, nil
	case protocol.Superseded:
		p.superseded.Inc()
		return wire.BatchReply{Incarnation: p.incarnation, Sequence: b.Sequence}, true, nil
	default:
		p.refreshNow()
		return r, true, p.busy(fmt.Sprintf("%v is not on the membership here", b.Sender))
	}
}

// launches reports whether the batch brings work.
func launches(b *wire.Batch) bool {
	for i := range b.Items {
		if b.Items[i].Msg.Kind == sched.Launch {
			return true
		}
	}
	return false
}

// busy has the sender try again in a moment.
func (p *peers) busy(what string) error {
	return &api.Error{
		Problem: api.Busy, What: what, Subject: fmt.Sprintf("node %q", p.node),
		Tried: "taking messages", Next: "send them again", RetryAfter: 10 * time.Millisecond,
	}
}

// enter puts a batch into the owner's inbox.
func (p *peers) enter(e event) error {
	err := p.post(e)
	var full *runloop.FullError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full):
		return p.busy(err.Error())
	default:
		return &api.Error{
			Problem: api.NotReady, What: err.Error(), Subject: fmt.Sprintf("node %q", p.node),
			Tried: "taking messages", Next: "wait until it has registered again",
		}
	}
}

// AttemptLog reads a piece of what an exec attempt wrote here.
func (p *peers) AttemptLog(_ context.Context, r wire.AttemptLogRequest) (wire.LogChunk, error) {
	id := r.Attempt
	if id.Attempt == 0 {
		if have := p.logs.Attempts(id.Job, id.Task); len(have) > 0 {
			id.Attempt = have[len(have)-1]
		}
	}
	stream, err := streamOf(id, r.Stream)
	if err != nil {
		return wire.LogChunk{}, err
	}
	c, err := p.logs.Read(id, stream, r.Offset, r.Limit)
	return wire.LogChunk{Data: c.Data, Size: c.Size, Ended: c.Ended}, err
}

func streamOf(id sched.AttemptID, name string) (logs.Stream, error) {
	switch name {
	case "stdout":
		return logs.Stdout, nil
	case "stderr":
		return logs.Stderr, nil
	}
	return 0, &api.Error{
		Problem: api.Invalid, What: fmt.Sprintf("there is no output %q", name), Subject: "attempt " + id.String(),
		Tried: "reading its log", Next: `use "stdout" or "stderr"`,
	}
}
