package backends

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/relay"
	"github.com/pigeon-sched/pigeon/nodemonitor/connections"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// Bounds of the messages of backends besides Config.MaxMessages.
const (
	maxMessageBytes  = 64 << 20  // that wait for one frontend
	maxMessagePeers  = 1024      // frontends for which messages wait
	messagePatience  = time.Hour // after which a message is dropped that its frontend cannot be sent, or has no room for
	messageRetryMin  = 20 * time.Millisecond
	messageRetryMost = 2 * time.Second
)

// messages sends messages of backends to the frontends of their tasks, which pass
// them on to the applications.
type messages struct {
	log       *slog.Logger
	relay     *relay.Relay[backendMessage]
	pools     *connections.Pools
	frontends *knownFrontends
	held      daemon.SharedLogPace // applications for whose messages a frontend has no room
	dropped   daemon.SharedLogPace // messages that are not delivered
}

type backendMessage struct {
	app    string
	task   wire.TaskRef
	status int32
	body   []byte
}

// size counts what a message holds, its names too: a sender may give them any length.
func (m backendMessage) size() int {
	return len(m.body) + len(m.app) + len(m.task.Task) + len(m.task.Job) + len(m.task.App)
}

var _ wire.MessageRelay = (*messages)(nil)

func newMessages(log *slog.Logger, limit int, security client.Security) *messages {
	s := &messages{log: log, pools: connections.New("frontend", security), frontends: newKnownFrontends()}
	s.relay = relay.New(relay.Options[backendMessage]{
		Deliver: s.deliver, Size: backendMessage.size,
		Unreachable: func(frontend string, why error) {
			log.Warn("a frontend cannot be reached; messages of backends wait for it", "frontend", frontend, "error", why)
		},
		Held: func(frontend string, m backendMessage, why error) {
			if omitted, due := s.held.Due(frontend); due {
				log.Warn("a frontend does not take the messages of an application's backends now; they wait",
					"application", api.Clip(m.app, api.MaxKeyBytes), "frontend", frontend, "error", why, "omitted", omitted)
			}
		},
		Dropped: func(frontend string, m backendMessage, why error) {
			if omitted, due := s.dropped.Due(frontend); due {
				log.Warn("a backend's message was not delivered to its application, or may not have been; it is not sent again",
					"application", api.Clip(m.app, api.MaxKeyBytes), "task", api.Clip(m.task.Task, api.MaxKeyBytes), "job", api.Clip(m.task.Job, api.MaxKeyBytes), "frontend", frontend, "error", why, "omitted", omitted)
			}
		},
		Stream:       func(m backendMessage) string { return m.app },
		Refused:      refusedForNow,
		User:         func(m backendMessage) string { return api.AppScope(m.app) },
		Destinations: maxMessagePeers, Messages: limit, Setting: "max_messages", Bytes: maxMessageBytes,
		Patience: messagePatience, MinPause: messageRetryMin, MaxPause: messageRetryMost,
	})
	return s
}

// FrontendMessage queues a message for the task's frontend.
func (s *messages) FrontendMessage(ctx context.Context, app string, task wire.TaskRef, status int32, body []byte) error {
	refusal := &api.Error{
		Problem: api.Busy, Subject: fmt.Sprintf("message about task %q of job %q of application %q", task.Task, task.Job, app),
		Tried: "relaying it to the frontend " + task.Scheduler, Next: "try again when the frontend is back",
	}
	if task.Scheduler == "" {
		refusal.What, refusal.Next = "the task names no frontend", "send the task's id as it came with the launch, with its schedulerAddress"
		return refusal
	}
	frontend := task.Scheduler
	if identity.From(ctx).Role != identity.Superuser { // who could connect anywhere as this daemon anyway
		frontend = s.frontends.find(ctx, task.Scheduler)
	}
	if frontend == "" {
		refusal.Problem = api.NotFound
		refusal.What = "no frontend at that address has launched a task in a backend here since this node monitor started"
		refusal.Next = "send the task's id as it came with the launch, with its schedulerAddress, to the node monitor that launched it"
		return refusal
	}
	err := s.relay.Send(frontend, backendMessage{api.ScopedApp(access.AppScope(identity.From(ctx)), app), task, status, body})
	if err == nil {
		return nil
	}
	refusal.What = err.Error()
	if errors.Is(err, relay.ErrClosed) {
		refusal.Next = "send it to the node monitor that comes after it"
	}
	if full, ok := errors.AsType[*relay.FullError](err); ok && full.Refused {
		refusal.Next = "check that the application takes its messages, then try again"
	}
	return refusal
}

// refusedForNow reports whether an error is the answer of a frontend that has not taken a message and may
// take it later, because it has no room for more messages of the application, reads its journal or does not
// lead; and how long at least to wait before that.
func refusedForNow(err error) (wait time.Duration, refused bool) {
	if _, unanswered := errors.AsType[*client.CallError](err); unanswered {
		return 0, false
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Problem != api.Busy && e.Problem != api.NotReady {
		return 0, false
	}
	return e.RetryAfter, true
}

// deliver calls the frontend at an address, or, where a standby answers there, the leader that it names: a
// backend names the process that led when its task was launched.
func (s *messages) deliver(ctx context.Context, frontend string, m backendMessage) error {
	err := s.call(ctx, frontend, m)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Problem == api.NotReady && e.Address != "" {
		return s.call(ctx, e.Address, m)
	}
	return err
}

func (s *messages) call(ctx context.Context, frontend string, m backendMessage) error {
	pool, err := s.pools.At(frontend)
	if err != nil {
		return err
	}
	return wire.NewSchedulerClient(pool).FrontendMessage(ctx, m.app, m.task, m.status, m.body)
}

// drain takes no more messages, and delivers those that wait until ctx ends.
func (s *messages) drain(ctx context.Context) {
	s.relay.Drain(ctx)
	if n := s.relay.Stats().Waiting; n > 0 {
		s.log.Warn("messages of backends were not delivered before the node monitor stopped; they are not sent again", "messages", n)
	}
}

// close ends the deliveries.
func (s *messages) close() {
	s.relay.Close()
	s.pools.Close()
}
