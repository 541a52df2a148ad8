package backends

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// A frontend is known by every spelling of its address and by other names of its host, and the one whose
// last launch is the longest ago is forgotten first.
func TestKnownFrontends(t *testing.T) {
	k := newKnownFrontends()
	k.lookup = func(_ context.Context, host string) ([]string, error) {
		if host == "head" || host == "head.example" {
			return []string{"10.0.0.1", "fd00::1"}, nil
		}
		return nil, errors.New("no such host")
	}
	k.launched("Head:20503")
	k.launched("10.0.0.2:20503")
	k.launched("")
	for named, want := range map[string]string{
		"head:20503": "head:20503", "head.example:20503": "head:20503", "10.0.0.1:20503": "head:20503", "[fd00::1]:20503": "head:20503",
		"10.0.0.2:20503": "10.0.0.2:20503",
		"head:22":        "", "10.0.0.3:20503": "", "other:20503": "", "10.0.0.2": "", "": "",
	} {
		if got := k.find(t.Context(), named); got != want {
			t.Errorf("%q is found as %q, want %q", named, got, want)
		}
	}
	for i := range maxMessagePeers - 1 {
		k.launched(fmt.Sprintf("10.1.%d.%d:1", i>>8, i&0xff))
		k.launched("10.0.0.2:20503")
	}
	if len(k.last) != maxMessagePeers || k.find(t.Context(), "head:20503") != "" || k.find(t.Context(), "10.0.0.2:20503") == "" {
		t.Errorf("%d are known, want the %d of the last launches", len(k.last), maxMessagePeers)
	}
}

// A user has messages sent only to frontends that launch tasks here; who could do everything to the node
// monitor anyway names any address.
func TestMessagesOfUsers(t *testing.T) {
	m := newMessages(slog.New(slog.DiscardHandler), 10, client.Security{})
	defer m.close()
	const frontend, stranger = "127.0.0.1:1", "127.0.0.1:2"
	m.frontends.launched(frontend)
	user := identity.With(t.Context(), identity.Principal{Name: "alice", Role: identity.User})
	for _, c := range []struct {
		ctx     context.Context //nolint:containedctx // of a call
		address string
		refused bool
	}{{user, frontend, false}, {user, stranger, true}, {identity.With(t.Context(), identity.Self()), stranger, false}} {
		err := m.FrontendMessage(c.ctx, "app", wire.TaskRef{Task: "t", Job: "j", Scheduler: c.address}, 0, nil)
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "no frontend at that address has launched a task") {
			t.Errorf("%s to %s: %v", identity.From(c.ctx).Role, c.address, err)
		}
	}
}
