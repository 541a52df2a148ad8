package nodemonitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/link"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/logs"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// peers is what this node offers to other daemons.
type peers struct {
	node   string
	master wire.Ref // the only one whose messages count
	inbox  *link.Inbox
	logs   *logs.Store
	post   func(event) error
}

var (
	_ wire.BatchReceiver = (*peers)(nil)
	_ wire.LogReader     = (*peers)(nil)
)

// Deliver takes messages of the group's master.
func (p *peers) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	if b.Sender.Daemon() != p.master {
		return wire.BatchReply{Problem: fmt.Sprintf("node %q works for %v, not for %v; correct the group or the master's address of one of them", p.node, p.master, b.Sender)}, nil
	}
	at := time.Now()
	return p.inbox.Accept(b, func(b *wire.Batch) (string, error) { return "", p.enter(event{kind: delivered, batch: b, at: at}) })
}

// enter puts a batch into the owner's inbox.
func (p *peers) enter(e event) error {
	err := p.post(e)
	var full *runloop.FullError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &full):
		return &api.Error{
			Problem: api.Busy, What: err.Error(), Subject: fmt.Sprintf("node %q", p.node),
			Tried: "taking messages", Next: "send them again", RetryAfter: 10 * time.Millisecond,
		}
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
