package frontend

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// An announcement is repeated, because nodes that connect to NATS at the same moment as the
// frontend may miss the first. A node that misses all finds the frontend in other ways.
const (
	announceEvery = 500 * time.Millisecond
	announceTimes = 4
)

// announce publishes to all nodes which process this is and where it serves them. Then
// nodes list at once what they hold of this frontend, and resend the results that they
// keep.
func (f *Frontend) announce(ctx context.Context) {
	a := f.owner.acker
	if a.conn == nil {
		return
	}
	b := a.batch(wire.Ref{Role: sched.Worker})
	data, err := f.codec.Append(nil, &b)
	if err != nil {
		f.log.Error("the announcement of this frontend could not be written", "error", err)
		return
	}
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for left := announceTimes; left > 0; {
		if err := a.publish(notice.AnnouncementSubject(f.cfg.Cluster), data); err == nil {
			left-- // else NATS is not reachable yet
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
