package server_test

import (
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/credentials/credentialstest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/peercred/peercredtest"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// TestTheKernelSaysWhoCalls: on loopback this user is a superuser, and another one has the role that
// the settings give others.
func TestTheKernelSaysWhoCalls(t *testing.T) {
	for want, o := range map[string]credentials.Options{
		"user nobody (kernel)":          {LocalRole: identity.User},
		"caller nobody without a role":  {},
		"superuser nobody (kernel)":     {LocalRole: identity.User, DaemonUsers: []string{"nobody"}},
		"a caller of an insecure liste": {Insecure: true},
	} {
		s := servertest.Start(t, servertest.Echo(whoCalls), server.Options{Security: server.Security{Identifier: credentialstest.Open(t, o)}})
		own := "superuser "
		if o.Insecure {
			own = "a caller of an insecure listener"
		}
		dial(t, s).says("who", own)
		t.Run(want, func(t *testing.T) {
			var nc net.Conn
			var err error
			peercredtest.As(t, peercredtest.Nobody, func() { nc, err = net.Dial("tcp", s.Addr().String()) })
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			(&wire{Conn: nc, t: t}).says("who", want)
		})
	}
}
