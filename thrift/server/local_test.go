package server_test

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// byConnection takes callers by TLS for "secured" and others for "clear".
type byConnection struct{ config *tls.Config }

func (b byConnection) Server() *tls.Config { return b.config }

func (byConnection) Identify(c net.Conn) (identity.Principal, error) {
	if _, ok := c.(*tls.Conn); ok {
		return identity.Principal{Name: "secured", Role: identity.User}, nil
	}
	return identity.Principal{Name: "clear", Role: identity.User}, nil
}

func (byConnection) Authenticate(string) (identity.Principal, error) {
	return identity.Principal{}, nil
}

func (byConnection) Valid(identity.Principal) error { return nil }

// distant is a listener whose callers seem to be on another machine.
type distant struct{ net.Listener }

func (d distant) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	return distantConn{c}, err
}

type distantConn struct{ net.Conn }

func (distantConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 1}
}

// TestCallsInClear: a server that speaks TLS also serves callers on its own machine in clear,
// which the kernel knows, and tells those on others what is wrong.
func TestCallsInClear(t *testing.T) {
	a, err := authority.Init(filepath.Join(t.TempDir(), "pki"), "pigeon", time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	i, err := a.Issue(authority.Request{Role: identity.Node, Name: "n", Lifetime: time.Minute}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(i.Cert, i.Key)
	if err != nil {
		t.Fatal(err)
	}
	security := server.Security{Identifier: byConnection{&tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}}}
	whoami := servertest.Echo(func(ctx context.Context, _ string) (string, error) { return identity.From(ctx).Name, nil })
	inClear := func(s *server.Server) (string, error) {
		p, err := client.New(client.Options{Address: s.Addr().String(), CallTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		return callEcho(t.Context(), p)
	}
	near := servertest.Start(t, whoami, server.Options{Security: security})
	if got, err := inClear(near); err != nil || got != "clear" {
		t.Errorf("on this machine: %q, %v", got, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	far := servertest.Start(t, whoami, server.Options{Security: security, Listener: distant{l}})
	if got, err := inClear(far); err == nil || !strings.Contains(err.Error(), "came in clear") {
		t.Errorf("from another machine: %q, %v", got, err)
	}
	p, err := client.New(client.Options{Address: far.Addr().String(), CallTimeout: time.Minute, Security: client.Security{TLS: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got, err := callEcho(t.Context(), p); err != nil || got != "secured" {
		t.Errorf("by TLS: %q, %v", got, err)
	}
}

func callEcho(ctx context.Context, p *client.Pool) (answer string, err error) {
	err = p.Do(ctx, func(ctx context.Context, c thrift.TClient) (err error) {
		answer, err = servertest.Call(ctx, c, "")
		return err
	})
	return answer, err
}
