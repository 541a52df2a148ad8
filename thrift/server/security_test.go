package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/credentials/credentialstest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// whoCalls answers with the principal that the server sees as its caller.
func whoCalls(ctx context.Context, _ string) (string, error) {
	return identity.From(ctx).String(), nil
}

// fixed identifies every caller as one principal.
type fixed struct {
	principal identity.Principal
	refusal   error        // of Identify
	ended     atomic.Bool  // Valid refuses
	tried     atomic.Int32 // tokens
}

func (*fixed) Server() *tls.Config                             { return nil }
func (f *fixed) Identify(net.Conn) (identity.Principal, error) { return f.principal, f.refusal }

func (f *fixed) Authenticate(string) (identity.Principal, error) {
	f.tried.Add(1)
	return identity.Principal{}, &api.Error{Problem: api.Denied, What: "no such token"}
}

func (f *fixed) Valid(identity.Principal) error {
	if f.ended.Load() {
		return &api.Error{Problem: api.Denied, What: "the proof has ended"}
	}
	return nil
}

// TestWithoutSecurityNobodyIsKnown: such a server asks no caller for its identity, and knows none.
func TestWithoutSecurityNobodyIsKnown(t *testing.T) {
	dial(t, servertest.Start(t, servertest.Echo(whoCalls), server.Options{})).says("who", "an unknown caller")
}

// says makes a call and checks its answer.
func (w *wire) says(text, want string) {
	w.t.Helper()
	w.send(request(text)...)
	if got := string(w.receive()); !strings.Contains(got, want) {
		w.t.Fatalf("answered %q, want %q", got, want)
	}
}

// TestRefusedCalls: a call that the caller may not make is answered with the reason, and the
// connection stays open.
func TestRefusedCalls(t *testing.T) {
	var open atomic.Bool
	s := servertest.Start(t, servertest.Echo(same), server.Options{Security: server.Security{
		Identifier: &fixed{principal: identity.Principal{Name: "eve", Role: identity.Viewer}},
		Allow: func(p identity.Principal, method string) error {
			if open.Load() || method != "echo" {
				return nil
			}
			return &api.Error{Problem: api.Denied, What: "a " + string(p.Role) + " may not call " + method}
		},
	}})
	c := dial(t, s)
	c.says("x", "a viewer may not call echo")
	open.Store(true)
	c.echo("x")
	if st := s.Stats(); st.Refused != 1 || st.Open != 1 {
		t.Errorf("%+v", st)
	}
}

// TestBadProofEndsTheConnection after an answer that says what is wrong with it, and so does one that
// has expired meanwhile.
func TestBadProofEndsTheConnection(t *testing.T) {
	bad := &fixed{refusal: &api.Error{Problem: api.Denied, What: "the certificate was revoked"}}
	s := servertest.Start(t, servertest.Echo(same), server.Options{Security: server.Security{Identifier: bad}})
	c := dial(t, s)
	c.says("x", "the certificate was revoked")
	c.closed()

	good := &fixed{principal: identity.Principal{Name: "alice", Role: identity.User}}
	s = servertest.Start(t, servertest.Echo(same), server.Options{Security: server.Security{Identifier: good}})
	c = dial(t, s)
	c.echo("x")
	good.ended.Store(true)
	c.says("x", "the proof has ended")
	c.closed()
	if n := s.Stats().Ended[server.Unproven]; n != 1 {
		t.Errorf("%d connections ended for that", n)
	}
}

// proof is the frame of the call by which a caller shows a token of up to 200 bytes.
func proof(token string) []byte {
	call := append([]byte{0, 0, 0, 0, 0x80, 1, 0, 1, 0, 0, 0, 12}, "authenticate\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00"+string(rune(len(token)))+token+"\x00"...)
	call[3] = byte(len(call) - 4)
	return call
}

// TestGuessedTokensEndTheConnection: a caller cannot try many on one connection.
func TestGuessedTokensEndTheConnection(t *testing.T) {
	f := &fixed{}
	s := servertest.Start(t, servertest.Echo(whoCalls), server.Options{Security: server.Security{Identifier: f}})
	c := dial(t, s)
	guess := proof("guess")
	for range 3 {
		c.send(guess...)
		if got := string(c.receive()); !strings.Contains(got, "no such token") {
			t.Fatalf("answered %q", got)
		}
	}
	c.closed()
	if f.tried.Load() != 3 {
		t.Errorf("%d tokens were looked at", f.tried.Load())
	}
}

// tlsServer starts a server that has the certificate of a master.
func tlsServer(t testing.TB, o server.Options) (*server.Server, *credentialstest.Authority) {
	t.Helper()
	a := credentialstest.New(t, "c")
	o.Security.Identifier = credentialstest.Open(t, a.Issue(identity.Master, "0"))
	return servertest.Start(t, servertest.Echo(same), o), a
}

// TestClearBytesToTLS: a call in clear is answered in clear, other bytes end the connection, and both
// are logged.
func TestClearBytesToTLS(t *testing.T) {
	log := &journal{}
	pipes := servertest.NewPipes() // as if from another machine: on this one the kernel knows the caller
	s, _ := tlsServer(t, server.Options{Log: log.logger(), Listener: pipes})
	c := dialPipe(t, pipes)
	c.says("x", "the server speaks TLS")
	c.closed()
	c = dialPipe(t, pipes)
	c.send([]byte("GET / HTTP/1.1\r\n\r\n")...)
	c.closed()
	await.Until(t, "both ended", func() bool { return s.Stats().Ended[server.Unsecured] == 2 })
	if lines(log.text(), "unsecured", "speaks TLS, and the call came in clear") != 1 {
		t.Error(log.text())
	}
	probe := dialPipe(t, pipes)
	_ = probe.Close()
	await.Until(t, "the probe ended", func() bool { return s.Stats().Ended[server.Finished] == 1 })
}

// TestTLSToClear: a server in clear says so by TLS' own alert.
func TestTLSToClear(t *testing.T) {
	log := &journal{}
	s := servertest.Start(t, servertest.Echo(same), server.Options{Log: log.logger()})
	_, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err == nil || !strings.Contains(err.Error(), tls.AlertError(70).Error()) {
		t.Errorf("got %v", err)
	}
	await.Until(t, "it is logged", func() bool { return lines(log.text(), "the peer speaks TLS") == 1 })
}

// TestHandshakeHasALimit: the connection of a caller that begins it and sends no more is closed,
// and so is that of one that sends nothing at all.
func TestHandshakeHasALimit(t *testing.T) {
	a := credentialstest.New(t, "c")
	id := credentialstest.Open(t, a.Issue(identity.Master, "0"))
	timed(t, same, server.Options{HandshakeTimeout: 7 * time.Second, Log: slog.New(slog.DiscardHandler), Security: server.Security{Identifier: id}}, func(s *server.Server, p *servertest.Pipes) {
		for _, first := range []string{"", "\x16", "\x16\x03\x01\x02\x00"} {
			c := dialPipe(t, p)
			begin := time.Now()
			c.send([]byte(first)...)
			c.closed()
			if d := time.Since(begin); d != 7*time.Second {
				t.Errorf("%q was sent away after %v", first, d)
			}
		}
		if n := s.Stats().Ended[server.Unsecured]; n != 3 {
			t.Errorf("%d handshakes failed", n)
		}
	})
}

// TestCallsByTLS of a caller without a certificate are served: its identity decides what it may do.
func TestCallsByTLS(t *testing.T) {
	s, a := tlsServer(t, server.Options{})
	person := credentialstest.Open(t, credentials.Options{Cluster: "c", CA: a.CA})
	nc, err := tls.Dial("tcp", s.Addr().String(), person.Client(identity.Master, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := &wire{Conn: nc, t: t}
	c.echo("hello")
	c.echo("again")
}

// FuzzSecured sends random bytes to a server with TLS: at once, and within TLS. It serves on, and
// gives connections and memory back.
func FuzzSecured(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), false)
	f.Add(request("hello"), false)
	f.Add(request("hello"), true)
	f.Add([]byte{0x16, 3, 1, 2, 0, 1}, false)
	f.Add([]byte{0x16, 3, 1, 0xff, 0xff}, true)
	f.Add(append([]byte{0, 0, 0, 0}, request("hello")...), true)
	s, a := tlsServer(f, server.Options{MaxFrame: 64 << 10, Log: slog.New(slog.DiscardHandler)})
	node := credentialstest.Open(f, a.Issue(identity.Node, "n"))
	connect := func(t *testing.T) *wire {
		nc, err := tls.Dial("tcp", s.Addr().String(), node.Client(identity.Master, "0"))
		if err != nil {
			t.Fatal(err)
		}
		return &wire{Conn: nc, t: t}
	}
	f.Fuzz(func(t *testing.T, b []byte, within bool) {
		var bad *wire
		if within {
			bad = connect(t)
			_, _ = bad.Write(b)
			_ = bad.Conn.(*tls.Conn).CloseWrite()
		} else {
			bad = dial(t, s)
			_, _ = bad.Write(b)
			_ = bad.Conn.(*net.TCPConn).CloseWrite()
		}
		_, _ = io.Copy(io.Discard, bad)
		_ = bad.Close()
		good := connect(t)
		good.echo("alive")
		_ = good.Close()
		await.Until(t, "connections and memory are given back", func() bool {
			st := s.Stats()
			return st.Open == 0 && st.Memory == 0
		})
	})
}

// TestUnknownMethodIsNotIdentity: without security the service of identity is unknown as before.
func TestUnknownMethodIsNotIdentity(t *testing.T) {
	c := dial(t, servertest.Start(t, servertest.Echo(same), server.Options{}))
	ask := append([]byte{0, 0, 0, 0, 0x80, 1, 0, 1, 0, 0, 0, 12}, "authenticate\x00\x00\x00\x01\x00"...)
	ask[3] = byte(len(ask) - 4)
	c.send(ask...)
	if got := string(c.receive()); !strings.Contains(got, "Unknown function") {
		t.Errorf("answered %q", got)
	}
}
