package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// ask runs a question in the owner goroutine and waits for its answer.
func ask[T any](ctx context.Context, m *Master, question func(*owner) T) (answer T, err error) {
	done := make(chan T, 1)
	if err := m.loop.Post(func() { done <- question(m.owner) }); err != nil {
		return answer, m.busy(err)
	}
	select {
	case answer = <-done:
		return answer, nil
	case <-ctx.Done():
		return answer, m.busy(ctx.Err())
	}
}

// busy returns why the owner does not answer.
func (m *Master) busy(err error) error {
	if errors.Is(err, runloop.ErrClosed) {
		return &api.Error{Problem: api.NotReady, What: err.Error(), Subject: fmt.Sprintf("master of group %d", m.cfg.Group), Next: "try again when it is back"}
	}
	return &api.Error{Problem: api.Busy, What: err.Error(), Subject: fmt.Sprintf("master of group %d", m.cfg.Group), Next: "try again", RetryAfter: retryAfter}
}

// Deliver takes messages of frontends and node monitors.
func (m *Master) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	return m.inbox.Accept(b, func(b *wire.Batch) (problem string, err error) {
		if err := m.loop.Post(func() { m.owner.take(b) }); err != nil {
			return "", m.busy(err)
		}
		return "", nil
	})
}

// Hello registers a frontend or a node, or greets another master.
func (m *Master) Hello(ctx context.Context, h *wire.Hello) (wire.HelloReply, error) {
	type answer struct {
		reply wire.HelloReply
		err   error
	}
	a, err := ask(ctx, m, func(o *owner) (a answer) {
		a.reply, a.err = o.hello(h)
		return a
	})
	return a.reply, errors.Join(err, a.err)
}

// Roll returns who is registered; it waits for a change without the owner.
func (m *Master) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	return m.owner.board.Membership(ctx, incarnation, version, wait)
}

// Snapshot takes a node's heartbeat.
func (m *Master) Snapshot(ctx context.Context, s *wire.Snapshot) (wire.SnapshotReply, error) {
	return ask(ctx, m, func(o *owner) wire.SnapshotReply { return o.snapshot(s) })
}

// MasterState tells about the group.
func (m *Master) MasterState(ctx context.Context) (api.MasterState, error) {
	return ask(ctx, m, (*owner).state)
}

// JobView returns what the group holds of a job.
func (m *Master) JobView(ctx context.Context, job sched.JobID, app string) (wire.JobView, error) {
	return ask(ctx, m, func(o *owner) wire.JobView { return o.jobView(job, app) })
}

// viewTasks bounds the running tasks that a view lists.
const viewTasks = 100

func (o *owner) jobView(job sched.JobID, app string) wire.JobView {
	t, held := o.view.Totals(), o.view.Share(job, viewTasks)
	v := wire.JobView{Share: api.GroupShare{
		Group: o.cfg.Group, Reachable: true,
		AheadShort: t.Queued[sched.Short], AheadLong: t.Queued[sched.Long],
		IdleGeneral: max(0, t.Idle[sched.General]), IdleReserve: max(0, t.Idle[sched.Reserved]),
		OldestWait: max(o.waited(t.Oldest[sched.Short]), o.waited(t.Oldest[sched.Long])),
		Serving:    o.view.Serving(app), Queued: held.Queued, Running: held.Running,
	}}
	for _, r := range held.Tasks {
		t := api.TaskStatus{Task: int(r.Task), Attempt: int(r.Attempt), State: "running"}
		if ref, ok := o.addrs.Ref(r.Worker); ok {
			t.Node = fmt.Sprintf("%s/%d", ref.Name, ref.Slot)
		}
		v.Tasks = append(v.Tasks, t)
	}
	return v
}
