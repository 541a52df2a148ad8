package server_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// Callers that make no call do not hold the places of others with the connections beyond their bound:
// one such connection is kept, for the answer to its first call, as long as a frame may take, and
// further ones are closed at once.
func TestConnectionsBeyondTheBoundHoldNoPlace(t *testing.T) {
	alice := identity.Principal{Role: identity.User, Name: "alice", Proof: identity.Token}
	o := server.Options{MaxConns: 5, MaxConnsPerCaller: 2, FrameTimeout: 10 * time.Second, Security: server.Security{Identifier: servertest.Principal(alice)}}
	timed(t, same, o, func(s *server.Server, p *servertest.Pipes) {
		held := []*wire{dialPipe(t, p), dialPipe(t, p)}
		synctest.Wait()
		begin := time.Now()
		beyond := dialPipe(t, p)
		synctest.Wait()
		for range 20 {
			dialPipe(t, p).closed()
		}
		if got := time.Since(begin); got != 0 {
			t.Errorf("connections beyond the bound were closed after %v, want at once", got)
		}
		beyond.closed()
		if got := time.Since(begin); got != 10*time.Second {
			t.Errorf("the first one beyond the bound was closed after %v, want 10s", got)
		}
		for _, c := range held {
			c.echo("still served")
			_ = c.Close()
		}
		synctest.Wait()
		if got := s.Stats(); got.Open != 0 || got.Ended[server.CallerFull] != 20 || got.Ended[server.Full] != 0 {
			t.Errorf("stats %+v, want no connection open, 20 closed at once and none for want of a place", got)
		}
	})
}

// tokens identifies nobody by the connection, and a user by a token that is its name.
type tokens struct{ servertest.Principal }

func (tokens) Authenticate(token string) (identity.Principal, error) {
	return identity.Principal{Role: identity.User, Name: token, Proof: identity.Token}, nil
}

// A caller that proves its identity by a token holds no more places than any other: its connections beyond
// the bound end with the answer to the token, which says so.
func TestTokensBeyondTheBoundHoldNoPlace(t *testing.T) {
	o := server.Options{MaxConnsPerCaller: 2, Security: server.Security{Identifier: tokens{}}}
	timed(t, same, o, func(s *server.Server, p *servertest.Pipes) {
		prove := func(answer string) *wire {
			t.Helper()
			c := dialPipe(t, p)
			c.send(proof("alice")...)
			if got := string(c.receive()); !strings.Contains(got, answer) {
				t.Errorf("answered %q, want %q", got, answer)
			}
			return c
		}
		held := []*wire{prove("alice"), prove("alice")}
		begin := time.Now()
		for range 20 {
			prove("has 2 connections, the most of one caller").closed()
		}
		if got := time.Since(begin); got != 0 {
			t.Errorf("connections beyond the bound were closed after %v, want at once", got)
		}
		for _, c := range held {
			c.echo("still served")
			_ = c.Close()
		}
		synctest.Wait()
		if got := s.Stats(); got.Open != 0 || got.Ended[server.CallerFull] != 20 {
			t.Errorf("stats %+v, want no connection open and 20 closed at once", got)
		}
	})
}

// callers identifies each connection as the user whose name is set when it is accepted.
type callers struct {
	servertest.Principal
	name atomic.Pointer[string]
}

func (c *callers) Identify(net.Conn) (identity.Principal, error) {
	return identity.Principal{Role: identity.User, Name: *c.name.Load(), Proof: identity.Kernel}, nil
}

// The large frames of one caller, in calls that last, leave memory for those of others.
func TestMemoryOfOneCaller(t *testing.T) {
	who := &callers{}
	const size = 400 << 10
	o := server.Options{MaxFrame: 512 << 10, Memory: 4 << 20, Security: server.Security{Identifier: who}}
	var end chan struct{}
	timed(t, func(_ context.Context, text string) (string, error) { <-end; return "done", nil }, o, func(s *server.Server, p *servertest.Pipes) {
		end = make(chan struct{}) // of the bubble
		large := func(name string) *wire {
			who.name.Store(&name)
			c := dialPipe(t, p)
			c.send(request(strings.Repeat("x", size))...)
			synctest.Wait()
			return c
		}
		var served []*wire
		for range 4 {
			served = append(served, large("mallory"))
		}
		if m := s.Stats().Memory; m < 4*size || m > 2<<20 {
			t.Fatalf("%d bytes are charged for four frames of %d", m, size)
		}
		who.name.Store(new("mallory"))
		c := dialPipe(t, p)
		go func() { _, _ = c.Write(request(strings.Repeat("x", size))) }() // it is not read to its end
		synctest.Wait()
		if n := s.Stats().Ended[server.NoMemory]; n != 1 {
			t.Errorf("%d connections of a caller with half of the memory were closed, want 1", n)
		}
		for range 3 {
			served = append(served, large("alice"))
		}
		close(end)
		for _, c := range served {
			if got := c.receive(); !bytes.Contains(got, []byte("done")) {
				t.Errorf("answered %q", got)
			}
			_ = c.Close()
		}
		synctest.Wait()
		if st := s.Stats(); st.Open != 0 || st.Memory != 0 || st.Ended[server.NoMemory] != 1 {
			t.Errorf("stats %+v, want nothing open, nothing charged, and one connection closed for want of memory", st)
		}
	})
}
