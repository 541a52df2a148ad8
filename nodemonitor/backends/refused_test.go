package backends

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// taker is a frontend that takes the messages of applications, or refuses them.
type taker struct {
	wire.Scheduler // nothing else is called

	mu       sync.Mutex
	refusals map[string]error // by application
	refused  int
	taken    []string
}

func (f *taker) FrontendMessage(_ context.Context, app string, task wire.TaskRef, _ int32, _ []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refusals[app]; err != nil {
		f.refused++
		return err
	}
	f.taken = append(f.taken, app+" "+task.Task)
	return nil
}

func (f *taker) refuse(refusals map[string]error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = refusals
}

// awaitTaken waits until the frontend has taken these messages, and has refused some.
func (f *taker) awaitTaken(t *testing.T, refused int, want ...string) {
	t.Helper()
	await.Until(t, fmt.Sprintf("the messages %q and %d refusals", want, refused), func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Equal(f.taken, want) && f.refused >= refused
	}, func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return fmt.Sprintf("%q, %d refusals", f.taken, f.refused)
	})
}

// A message that its frontend refuses for now is delivered later, in the order of its application, and holds up
// no message of another.
func TestRefusedMessageWaits(t *testing.T) {
	for name, refusal := range map[string]error{
		"no room": &api.Error{Problem: api.Busy, What: "100000 messages wait for it, which is the limit", RetryAfter: 50 * time.Millisecond},
		"standby": &api.Error{Problem: api.NotReady, What: "this process does not lead, and no other is known to"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &taker{refusals: map[string]error{"etl": refusal}}
			s := servertest.Start(t, wire.SchedulerProcessor(f), server.Options{Name: "frontend"})
			m := newMessages(slog.New(slog.DiscardHandler), 100, client.Security{})
			defer m.close()
			send := func(app string, task int) {
				t.Helper()
				ctx := identity.With(t.Context(), identity.Principal{Role: identity.Superuser})
				if err := m.FrontendMessage(ctx, app, wire.TaskRef{Task: fmt.Sprint(task), Scheduler: s.Addr().String()}, 0, nil); err != nil {
					t.Fatal(err)
				}
			}
			send("etl", 1)
			send("etl", 2)
			send("report", 1)
			f.awaitTaken(t, 2, "report 1")
			f.refuse(nil)
			f.awaitTaken(t, 2, "report 1", "etl 1", "etl 2")
		})
	}
}

// A message for a frontend where a standby answers is delivered to the leader that the standby names.
func TestMessageFollowsTheLeader(t *testing.T) {
	leader := &taker{}
	led := servertest.Start(t, wire.SchedulerProcessor(leader), server.Options{Name: "leader"})
	standby := &taker{refusals: map[string]error{"etl": &api.Error{Problem: api.NotReady, What: "this process is a standby", Address: led.Addr().String()}}}
	s := servertest.Start(t, wire.SchedulerProcessor(standby), server.Options{Name: "standby"})
	m := newMessages(slog.New(slog.DiscardHandler), 100, client.Security{})
	defer m.close()
	ctx := identity.With(t.Context(), identity.Principal{Role: identity.Superuser})
	for task := range 2 {
		if err := m.FrontendMessage(ctx, "etl", wire.TaskRef{Task: fmt.Sprint(task), Scheduler: s.Addr().String()}, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	leader.awaitTaken(t, 0, "etl 0", "etl 1")
}

// A message that its frontend refuses for good is dropped.
func TestMessageWithoutListener(t *testing.T) {
	f := &taker{refusals: map[string]error{"etl": &api.Error{Problem: api.NotFound, What: "no application of that name has registered where it listens"}}}
	s := servertest.Start(t, wire.SchedulerProcessor(f), server.Options{Name: "frontend"})
	m := newMessages(slog.New(slog.DiscardHandler), 100, client.Security{})
	defer m.close()
	ctx := identity.With(t.Context(), identity.Principal{Role: identity.Superuser})
	if err := m.FrontendMessage(ctx, "etl", wire.TaskRef{Task: "1", Scheduler: s.Addr().String()}, 0, nil); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the message is dropped", func() bool { return m.relay.Stats().Dropped == 1 })
}
