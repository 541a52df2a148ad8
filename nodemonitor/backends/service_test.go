package backends

import (
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/nodemonitor/backend/app"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// noEvents ignores the changes of a registry.
type noEvents struct{}

func (noEvents) SlotAdded(app.Slot)        {}
func (noEvents) SlotGone(app.Slot, string) {}
func (noEvents) ServesChanged([]string)    {}

// A caller on another host registers no backend that would be called on the node's own.
func TestBackendsOfOtherHosts(t *testing.T) {
	registry := app.New(app.Config{Events: noEvents{}, Node: "n1"})
	defer registry.Close()
	s := Service{set: &Set{registry: registry}}
	user := identity.With(t.Context(), identity.Principal{Name: "etl", Role: identity.User, Owner: "etl", Proof: identity.Listener})
	for _, c := range []struct {
		caller, address string
		refused         bool
	}{{"192.0.2.7", "127.0.0.1:22", true}, {"192.0.2.7", "192.0.2.7:20101", false}, {"127.0.0.1", "127.0.0.1:20101", false}} {
		err := s.Register(server.WithRemote(user, &net.TCPAddr{IP: net.ParseIP(c.caller), Port: 1024}), "app", c.address, 0)
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "the caller is on another host") {
			t.Errorf("%s of a caller at %s: %v, want a refusal: %v", c.address, c.caller, err, c.refused)
		}
	}
}
