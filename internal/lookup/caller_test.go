package lookup_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/lookup"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

var hosts lookup.Hosts = func(_ context.Context, host string) ([]string, error) {
	for name, addresses := range map[string][]string{
		"localhost": {"::1", "127.0.0.1"}, "both.example": {"192.0.2.8", "127.0.0.1"}, "other.example": {"fd00::8", "192.0.2.8"},
		"zone.example": {"fe80::1%eth0"}, "none.example": {},
	} {
		if host == name {
			return addresses, nil
		}
	}
	return nil, errors.New("no such host")
}

// A caller on another host names no address of this one, by whatever name or spelling; a caller on this host, and
// one who could do everything to the daemon, names any.
func TestCheckNamed(t *testing.T) {
	own := []string{
		"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "[::1%lo]:1", "0.0.0.0:1", "[::]:1", "169.254.169.254:1", "[fe80::1]:1", "[fe80::1%eth0]:1",
		"224.0.0.1:1", "localhost:1", "both.example:1", "zone.example:1",
	}
	callers := []string{"127.0.0.1", "::ffff:127.0.0.1"}
	if a := daemontest.OwnAddress(t); a != "" {
		own, callers = append(own, a+":1"), append(callers, a)
	}
	others := []string{"192.0.2.8:1", "[fd00::8]:1", "other.example:1"}
	from := func(address string, r identity.Role) context.Context {
		ctx := identity.With(t.Context(), identity.Principal{Name: "etl", Role: r, Owner: "etl", Proof: identity.Listener})
		return server.WithRemote(ctx, &net.TCPAddr{IP: net.ParseIP(address), Port: 1024})
	}
	for _, address := range own {
		err := hosts.CheckNamed(from("192.0.2.7", identity.User), address)
		if err == nil || !strings.Contains(err.Error(), "the caller is on another host, and from here") || !strings.Contains(err.Error(), "192.0.2.7") {
			t.Errorf("a caller on another host names %s: %v", address, err)
		}
		if err := hosts.CheckNamed(from("192.0.2.7", identity.Superuser), address); err != nil {
			t.Errorf("a superuser on another host names %s: %v", address, err)
		}
		for _, caller := range callers {
			if err := hosts.CheckNamed(from(caller, identity.User), address); err != nil {
				t.Errorf("a caller at %s, on this host, names %s: %v", caller, address, err)
			}
		}
	}
	for _, address := range others {
		if err := hosts.CheckNamed(from("192.0.2.7", identity.User), address); err != nil {
			t.Errorf("a caller on another host names %s: %v", address, err)
		}
	}
	for _, address := range []string{"unknown.example:1", "none.example:1"} {
		if err := hosts.CheckNamed(from("192.0.2.7", identity.User), address); err == nil || !strings.Contains(err.Error(), "cannot be looked up here: ") || strings.Contains(err.Error(), "nil") {
			t.Errorf("a caller on another host names %s: %v", address, err)
		}
	}
}
