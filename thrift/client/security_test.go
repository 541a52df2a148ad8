package client_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/credentials/credentialstest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// whoCalls answers with the principal that the server sees as its caller.
func whoCalls(ctx context.Context, _ string) (string, error) {
	return identity.From(ctx).String(), nil
}

// secured starts a server that has the certificate of frontend f.
func secured(t *testing.T, a *credentialstest.Authority, h servertest.Echo, k credentials.Tokens) *server.Server {
	t.Helper()
	o := a.Issue(identity.Frontend, "f")
	o.Tokens = k
	return servertest.Start(t, h, server.Options{Log: discard, Security: server.Security{Identifier: credentialstest.Open(t, o)}})
}

// parts returns the error of a call without an answer, which must have all its parts.
func parts(t *testing.T, err error) *api.Error {
	t.Helper()
	e := noAnswer(t, err).Parts
	if e.What == "" || e.Subject == "" || e.Tried == "" || e.Next == "" {
		t.Errorf("not all parts: %+v", e)
	}
	return e
}

// TestCallsByMutualTLS: both ends know each other, and the pool keeps its connection.
func TestCallsByMutualTLS(t *testing.T) {
	a := credentialstest.New(t, "c")
	s := secured(t, a, whoCalls, nil)
	node := credentialstest.Open(t, a.Issue(identity.Node, "n"))
	p := pool(t, client.Options{Address: s.Addr().String(), Security: node.To(identity.Frontend, "f")})
	for range 5 {
		if got, err := echo(t.Context(), p, "who"); err != nil || got != "node n (certificate)" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if st := p.Stats(); st.Dials != 1 || st.Stale != 0 {
		t.Errorf("five calls made %+v", st)
	}
	p.Rest()
	if _, err := echo(t.Context(), p, "again"); err != nil {
		t.Error(err)
	}
}

// TestLargeFramesByTLS: a frame of many records arrives whole, both ways.
func TestLargeFramesByTLS(t *testing.T) {
	a := credentialstest.New(t, "c")
	o := server.Options{Log: discard, MaxFrame: 4 << 20, Security: server.Security{Identifier: credentialstest.Open(t, a.Issue(identity.Frontend, "f"))}}
	s := servertest.Start(t, servertest.Echo(same), o)
	p := pool(t, client.Options{Address: s.Addr().String(), Security: credentialstest.Open(t, a.Issue(identity.Node, "n")).To(identity.Frontend, "")})
	must(t, p, strings.Repeat("0123456789abcdef", 100_000))
}

// TestTheWrongDaemonIsNotCalled: nothing is sent to a daemon that is not the one meant.
func TestTheWrongDaemonIsNotCalled(t *testing.T) {
	a, other := credentialstest.New(t, "c"), credentialstest.New(t, "c")
	var calls atomic.Int32
	s := secured(t, a, func(context.Context, string) (string, error) { calls.Add(1); return "", nil }, nil)
	for want, security := range map[string]client.Security{
		`it is frontend "f", and a master was called`: credentialstest.Open(t, a.Issue(identity.Node, "n")).To(identity.Master, "0"),
		"none of this cluster's authorities":          credentialstest.Open(t, other.Issue(identity.Node, "n")).To(identity.Frontend, "f"),
	} {
		p := pool(t, client.Options{Name: "the frontend", Address: s.Addr().String(), Security: security})
		_, err := echo(t.Context(), p, "secret")
		if e := parts(t, err); e.Problem != api.Denied || !strings.Contains(e.What, want) || !strings.Contains(e.Next, "tls_ca") {
			t.Errorf("got %v, want %q", e, want)
		}
	}
	if calls.Load() != 0 {
		t.Error("the daemon was called")
	}
}

// TestClearAndTLSMeet: each error names the setting.
func TestClearAndTLSMeet(t *testing.T) {
	a := credentialstest.New(t, "c")
	node := credentialstest.Open(t, a.Issue(identity.Node, "n"))
	pipes := servertest.NewPipes() // as if from another machine: on this one the kernel knows the caller
	servertest.Start(t, servertest.Echo(whoCalls), server.Options{Log: discard, Listener: pipes, Security: server.Security{Identifier: credentialstest.Open(t, a.Issue(identity.Frontend, "f"))}})
	plainly := pool(t, client.Options{Address: "pipe:1", Dial: pipes.Dial})
	if _, err := echo(t.Context(), plainly, "x"); err == nil || !strings.Contains(err.Error(), "speaks TLS") || !strings.Contains(err.Error(), "set tls_ca") {
		t.Errorf("a call in clear to TLS: %v", err)
	}
	plain := servertest.Start(t, servertest.Echo(same), server.Options{Log: discard})
	p := pool(t, client.Options{Address: plain.Addr().String(), Security: node.To(identity.Frontend, "")})
	_, err := echo(t.Context(), p, "x")
	if e := parts(t, err); e.Problem != api.Invalid || !strings.Contains(e.What, "does not speak TLS") || !strings.Contains(e.Next, "leave out tls_ca") {
		t.Errorf("TLS to a server in clear: %v", e)
	}
}

// oneToken accepts one token for an hour.
type oneToken struct {
	asked   atomic.Int32
	revoked atomic.Bool
}

func (k *oneToken) Principal(token string) (identity.Principal, error) {
	k.asked.Add(1)
	if token != "secret" || k.revoked.Load() {
		return identity.Principal{}, &api.Error{Problem: api.Denied, Subject: "the token", What: "no such token", Tried: "proving who calls", Next: "have one made"}
	}
	return identity.Principal{Name: "alice", Role: identity.User, Proof: identity.Token, Credential: "1", Expires: time.Now().Add(time.Hour)}, nil
}

func (k *oneToken) Revoked(string) bool { return k.revoked.Load() }

func token(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

// TestTokenByTLS: the token proves the caller's identity on each connection, until it is revoked.
func TestTokenByTLS(t *testing.T) {
	a, k := credentialstest.New(t, "c"), &oneToken{}
	s := secured(t, a, whoCalls, k)
	security := credentialstest.Open(t, credentials.Options{Cluster: "c", CA: a.CA}).To(identity.Frontend, "")
	security.Token = token("secret")
	p := pool(t, client.Options{Address: s.Addr().String(), Security: security})
	for range 3 {
		if got, err := echo(t.Context(), p, "who"); err != nil || got != "user alice (token)" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if k.asked.Load() != 1 {
		t.Errorf("the token was sent %d times on one connection", k.asked.Load())
	}
	k.revoked.Store(true)
	if _, err := echo(t.Context(), p, "who"); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("with a revoked token: %v", err)
	}
	security.Token = token("guessed")
	wrong := pool(t, client.Options{Address: s.Addr().String(), Security: security})
	_, err := echo(t.Context(), wrong, "who")
	if e := parts(t, err); e.Problem != api.Denied || e.What != "no such token" {
		t.Errorf("with a guessed token: %v", e)
	}
}

// elsewhere is a connection to another machine, judging by its address.
type elsewhere struct {
	net.Conn
	sent *bytes.Buffer
}

func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func (e elsewhere) Write(b []byte) (int, error) {
	e.sent.Write(b)
	return e.Conn.Write(b)
}

// TestTokenInClear: it stays on this machine, and there a token of another cluster changes nothing.
func TestTokenInClear(t *testing.T) {
	k := &oneToken{}
	c := credentialstest.Open(t, credentials.Options{Tokens: k})
	s := servertest.Start(t, servertest.Echo(same), server.Options{Log: discard, Security: server.Security{Identifier: c}})
	var sent bytes.Buffer
	p := pool(t, client.Options{
		Address: s.Addr().String(), Security: client.Security{Token: token("secret")},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			nc, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return elsewhere{nc, &sent}, err
		},
	})
	must(t, p, "hello")
	if k.asked.Load() != 0 || bytes.Contains(sent.Bytes(), []byte("secret")) || !bytes.Contains(sent.Bytes(), []byte("hello")) {
		t.Errorf("the token left this machine in clear: %q", sent.Bytes())
	}
	here := pool(t, client.Options{Address: s.Addr().String(), Security: client.Security{Token: token("of another cluster")}})
	must(t, here, "hello")
	if k.asked.Load() != 1 {
		t.Errorf("on loopback the token was sent %d times", k.asked.Load())
	}
}

// TestNewCertificatesAreUsedAtTheNextCall: a connection made with the certificates before is dialled
// again, and no call fails.
func TestNewCertificatesAreUsedAtTheNextCall(t *testing.T) {
	a := credentialstest.New(t, "c")
	s := secured(t, a, whoCalls, nil)
	o := a.Issue(identity.Node, "n")
	node := credentialstest.Open(t, o)
	p := pool(t, client.Options{Address: s.Addr().String(), Security: node.To(identity.Frontend, "f")})
	must := func() {
		t.Helper()
		if _, err := echo(t.Context(), p, "x"); err != nil {
			t.Fatal(err)
		}
	}
	must()
	a.Issue(identity.Node, "n") // in the same files
	if err := node.Reload(); err != nil {
		t.Fatal(err)
	}
	must()
	must()
	if st := p.Stats(); st.Dials != 2 {
		t.Errorf("%d dials, want one for each certificate", st.Dials)
	}
}

// TestSilentServerAndTLS: a server that sends nothing ends the attempt to connect.
func TestSilentServerAndTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := credentialstest.New(t, "c")
	p := pool(t, client.Options{Address: l.Addr().String(), DialTimeout: 50 * time.Millisecond, FailFast: true, Security: credentialstest.Open(t, a.Issue(identity.Node, "n")).To(identity.Frontend, "")})
	if _, err := echo(t.Context(), p, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
