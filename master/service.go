package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

var (
	_ wire.BatchReceiver    = (*Master)(nil)
	_ wire.Registrar        = (*Master)(nil)
	_ wire.MembershipSource = (*Master)(nil)
)

// Deliver accepts messages of frontends, node monitors and other masters.
func (m *Master) Deliver(_ context.Context, b *wire.Batch) (wire.BatchReply, error) {
	if !m.standing.leads() {
		return wire.BatchReply{}, m.standing.refusal("accepting messages of " + b.Sender.String())
	}
	return m.inbox.Accept(b, func(b *wire.Batch) (problem string, err error) {
		bytes, err := m.waiting.Enter(b)
		if err != nil {
			return "", &api.Error{
				Problem: api.Busy, What: err.Error(), Subject: m.cfg.name(), Tried: "accepting messages of " + b.Sender.String(),
				Next: "send them again", RetryAfter: 10 * time.Millisecond,
			}
		}
		if err := m.loop.Post(func() { m.waiting.Leave(bytes); m.owner.deliver(b) }); err != nil {
			m.waiting.Leave(bytes)
			return "", m.mailbox.Refusal(err, "accepting messages of "+b.Sender.String())
		}
		return "", nil
	})
}

// Hello registers a frontend or a node, or answers another master.
func (m *Master) Hello(ctx context.Context, h *wire.Hello) (wire.HelloReply, error) {
	if !m.standing.leads() {
		return m.helloReply(h), nil
	}
	type answer struct {
		reply wire.HelloReply
		err   error
	}
	a, err := daemon.Ask(ctx, m.mailbox, "registering "+h.Sender.String(), func() (a answer) {
		a.reply, a.err = m.owner.hello(h)
		return a
	})
	return a.reply, errors.Join(err, a.err)
}

// Membership returns the live daemons. It waits for a change without using the owner
// goroutine.
func (m *Master) Membership(ctx context.Context, incarnation int64, version uint64, wait time.Duration) (wire.Membership, error) {
	if !m.standing.leads() {
		return wire.Membership{}, m.standing.refusal("reading the membership")
	}
	return m.owner.publication.publisher.Membership(ctx, incarnation, version, wait)
}

// Snapshot applies a node's heartbeat.
func (m *Master) Snapshot(ctx context.Context, s *wire.Snapshot) (wire.SnapshotReply, error) {
	if !m.standing.leads() {
		return m.snapshotReply(s), nil
	}
	return daemon.Ask(ctx, m.mailbox, "applying a snapshot of "+s.Sender.String(), func() wire.SnapshotReply {
		problem := m.owner.nodes.Snapshot(s)
		return wire.SnapshotReply{Incarnation: m.incarnation, Epoch: m.owner.epoch.Number, Known: problem == "", Problem: problem}
	})
}

// MasterState returns the group as it is now.
func (m *Master) MasterState(ctx context.Context) (api.MasterState, error) {
	role, leader := m.standing.role(), m.standing.leader()
	if role == api.Standby {
		return api.MasterState{Group: m.cfg.Group, Role: role, Leader: leader}, nil
	}
	s, err := daemon.Ask(ctx, m.mailbox, "reading the state of the group", m.owner.state)
	s.Role, s.Leader, s.NATSFaults = role, leader, m.natsFaults.List()
	return s, err
}

// ForgetNode stops showing a node or frontend that is not registered any more.
func (m *Master) ForgetNode(ctx context.Context, name string) (bool, error) {
	type answer struct {
		forgotten bool
		err       error
	}
	a, err := daemon.Ask(ctx, m.mailbox, fmt.Sprintf("forgetting node %q", name), func() (a answer) {
		a.forgotten, a.err = m.owner.forgetNode(name)
		return a
	})
	return a.forgotten, errors.Join(err, a.err)
}

// RunningAttempts returns the attempts of a task that run or are suspended in the group.
func (m *Master) RunningAttempts(ctx context.Context, job sched.JobID, task int32) ([]api.TaskStatus, error) {
	const tried = "finding where a task runs"
	if !m.standing.leads() {
		return nil, m.standing.refusal(tried)
	}
	return daemon.Ask(ctx, m.mailbox, tried, func() []api.TaskStatus { return m.owner.runningAttempts(job, task) })
}

// RunningTasks returns how many tasks of each of the jobs run in the group.
func (m *Master) RunningTasks(ctx context.Context, list []sched.JobID) ([]int32, error) {
	const tried = "counting the running tasks of jobs"
	if !m.standing.leads() {
		return nil, m.standing.refusal(tried)
	}
	return daemon.Ask(ctx, m.mailbox, tried, func() []int32 {
		n := make([]int32, len(list))
		for i, job := range list {
			n[i] = int32(m.owner.core.view.Share(job, 0).Running) //nolint:gosec // the slots of a group
		}
		return n
	})
}

// RunningJobs returns which jobs of a frontend have tasks that run in the group.
func (m *Master) RunningJobs(ctx context.Context, frontend string) (wire.RunningJobs, error) {
	const tried = "finding the jobs that run"
	if !m.standing.leads() {
		return wire.RunningJobs{}, m.standing.refusal(tried)
	}
	return daemon.Ask(ctx, m.mailbox, tried, func() wire.RunningJobs { return m.owner.runningJobs(frontend) })
}

// JobView returns what the group holds of a job.
func (m *Master) JobView(ctx context.Context, job sched.JobID, app string) (wire.JobView, error) {
	const tried = "reading the state of a job"
	if !m.standing.leads() {
		return wire.JobView{}, m.standing.refusal(tried)
	}
	return daemon.Ask(ctx, m.mailbox, tried, func() wire.JobView { return m.owner.jobView(job, app) })
}
