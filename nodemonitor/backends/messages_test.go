package backends

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The messages of one user leave room for those of others at the frontend of both.
func TestMessagesOfOneUser(t *testing.T) {
	m := newMessages(slog.New(slog.DiscardHandler), 4, client.Security{})
	defer m.close()
	const nowhere = "127.0.0.1:1"
	m.frontends.launched(nowhere)
	send := func(user string) error {
		ctx := identity.With(t.Context(), identity.Principal{Name: user, Role: identity.User})
		return m.FrontendMessage(ctx, "app", wire.TaskRef{Task: "t", Scheduler: nowhere}, 0, nil)
	}
	for i, user := range []string{"alice", "alice", "alice", "bob"} {
		err := send(user)
		if refused := i == 2; (err != nil) != refused || refused && !strings.Contains(err.Error(), "2 messages of alice wait for it, which is the limit for one user (half of max_messages)") {
			t.Errorf("message %d, of %s: %v", i, user, err)
		}
	}
}

// The names of a message count among the bytes that wait for a frontend.
func TestLongNames(t *testing.T) {
	m := newMessages(slog.New(slog.DiscardHandler), 100, client.Security{})
	defer m.close()
	const nowhere = "127.0.0.1:1"
	m.frontends.launched(nowhere)
	name := strings.Repeat("x", 16<<20)
	for _, c := range []struct {
		app  string
		task wire.TaskRef
	}{{app: name}, {task: wire.TaskRef{Task: name}}, {task: wire.TaskRef{Job: name}}, {task: wire.TaskRef{App: name}}} {
		c.task.Scheduler = nowhere
		if err := m.FrontendMessage(t.Context(), c.app, c.task, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.FrontendMessage(t.Context(), "app", wire.TaskRef{Task: "t", Scheduler: nowhere}, 0, nil); err == nil || !strings.Contains(err.Error(), "bytes of messages wait for it") {
		t.Errorf("beyond 64 MiB of names: %v", err)
	}
}

// What is left when the node monitor stops is logged.
func TestMessagesLeftAtTheStop(t *testing.T) {
	var log bytes.Buffer
	m := newMessages(slog.New(slog.NewTextHandler(&log, nil)), 4, client.Security{})
	defer m.close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	m.frontends.launched("127.0.0.1:1")
	for range 2 {
		if err := m.FrontendMessage(t.Context(), "app", wire.TaskRef{Task: "t", Scheduler: "127.0.0.1:1"}, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	m.drain(ended)
	m.close()
	if !strings.Contains(log.String(), "were not delivered before the node monitor stopped") || !strings.Contains(log.String(), "messages=2") {
		t.Errorf("it logged %q", log.String())
	}
}
