package frontend

import (
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/frontend/listeners"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// A caller on another host registers no listener that would be called on the frontend's own.
func TestListenersOfOtherHosts(t *testing.T) {
	l := listeners.New(daemontest.Log(t), listeners.Patience)
	defer l.Close()
	srv := &schedulerService{listeners: l}
	ctx := identity.With(t.Context(), identity.Principal{Name: "etl", Role: identity.User, Owner: "etl", Proof: identity.Listener})
	ctx = server.WithRemote(ctx, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1024})
	err := srv.RegisterFrontend(ctx, "app", "localhost:50201")
	if err == nil || !strings.Contains(err.Error(), "the caller is on another host") {
		t.Errorf("a listener at localhost, of a caller on another host: %v", err)
	}
}

// A listener of an application that no job and no backend can have is refused.
func TestApplicationNames(t *testing.T) {
	l := listeners.New(daemontest.Log(t), listeners.Patience)
	defer l.Close()
	srv := &schedulerService{listeners: l}
	for name, want := range map[string]string{"": "its name has 0 bytes", strings.Repeat("a", 257): "its name has 257 bytes", "etl\x1b[2J": "its name contains a control character"} {
		if err := srv.RegisterFrontend(t.Context(), name, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", name, err, want)
		}
	}
}
