package server_test

import (
	"bytes"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// One caller has no more connections than its bound, learns that by the answer to its call, and
// has room again when it closes one. Daemons and their own user have no bound.
func TestConnectionsOfOneCaller(t *testing.T) {
	for _, c := range []struct {
		p       identity.Principal
		bounded bool
	}{
		{identity.Principal{Role: identity.User, Name: "mallory", Proof: identity.Token}, true},
		{identity.Principal{}, true},
		{identity.Principal{Role: identity.Node, Name: "n-0", Proof: identity.Certificate}, false},
		{identity.Self(), false},
	} {
		s := servertest.Start(t, servertest.Echo(same), server.Options{MaxConnsPerCaller: 2, Security: server.Security{Identifier: servertest.Principal(c.p)}})
		first := dial(t, s)
		first.echo("one")
		second := dial(t, s)
		second.echo("two")
		third := dial(t, s) // only now: connections count in the order in which they are served
		if !c.bounded {
			third.echo("three")
			continue
		}
		third.send(request("three")...)
		if got := third.receive(); !bytes.Contains(got, []byte("2 connections, the most of one caller")) {
			t.Errorf("%v: %q", c.p, got)
		}
		first.echo("still served")
		first.Close()
		await.Until(t, "the connections that have ended are forgotten", func() bool { return s.Stats().Open == 1 })
		dial(t, s).echo("again")
	}
}
