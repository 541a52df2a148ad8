package credentials_test

import (
	"errors"
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/peercred/peercredtest"
)

// Without a descriptor left an owner is no stranger: the refusal passes, says why, and nothing is
// remembered of it. A user whose name was not looked up yet is not taken for one without a name.
func TestCallersWithoutDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c, err := credentials.Open(credentials.Options{LocalRole: identity.User})
	if err != nil {
		t.Fatal(err)
	}
	restore := peercredtest.WithoutDescriptors(t)
	p, err := c.Identify(a)
	restore()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Problem != api.Busy || e.RetryAfter == 0 || p != (identity.Principal{}) {
		t.Errorf("without descriptors: %+v, %v", p, err)
	}
	if p, err := c.Identify(a); err != nil || p.Role != identity.Superuser || p.Name == "" {
		t.Errorf("later: %+v, %v", p, err)
	}
}
