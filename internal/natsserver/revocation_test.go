package natsserver_test

import (
	"crypto/x509"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// A certificate that is revoked ends the connections of its daemon, not only those that it makes later, and
// nobody else's.
func TestRevokedCertificateEndsConnections(t *testing.T) {
	t.Parallel()
	p := newRevocable(t)
	own, _ := p.issue(authority.NATS, "n1")
	o := p.server(own)
	o.Log = daemontest.Log(t)
	s, err := natsserver.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	connected := func(folder string) *nats.Conn {
		t.Helper()
		access := notice.Access{URL: s.URL()}
		access.CA, access.Cert, access.Key = filesOf(folder)
		nc, _ := client(t, access)
		return nc
	}
	folder, cert := p.issue(identity.Frontend, "f0")
	excluded := connected(folder)
	folder, _ = p.issue(identity.Frontend, "f1")
	other := connected(folder)
	p.revoke(cert)
	await.Until(t, "the connection has ended", excluded.IsClosed)
	if err := other.FlushTimeout(time.Minute); err != nil {
		t.Errorf("the connection of another daemon: %v", err)
	}
}

// A server that was connected before its certificate was revoked stays connected, and the other says so.
func TestRevokedServerIsNamed(t *testing.T) {
	t.Parallel()
	p, log := newRevocable(t), &daemontest.Text{}
	own, _ := p.issue(authority.NATS, "n1")
	folder, cert := p.issue(authority.NATS, "n2")
	start := func(name, folder string, log *slog.Logger, routes ...string) *natsserver.Server {
		t.Helper()
		o := p.server(folder)
		o.Name, o.ClusterName, o.ClusterListen, o.Routes, o.Log = name, "c", "127.0.0.1:0", routes, log
		s, err := natsserver.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	first := start("n1", own, slog.New(slog.NewTextHandler(log, nil)))
	start("n2", folder, nil, first.ClusterURL())
	await.Until(t, "the servers are connected", func() bool { return first.Peers() == 2 })
	p.revoke(cert)
	await.Until(t, "the log names the server", func() bool {
		return strings.Contains(log.String(), "restart this server to end them\" role=nats name=n2")
	}, log.String)
}

// revocable issues certificates that can be revoked.
type revocable struct {
	t         *testing.T
	dir       string
	authority *authority.Authority
}

func newRevocable(t *testing.T) *revocable {
	t.Helper()
	p := &revocable{t: t, dir: t.TempDir()}
	var err error
	if p.authority, err = authority.Init(filepath.Join(p.dir, "pki"), "c", time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *revocable) issue(role identity.Role, name string) (folder string, cert *x509.Certificate) {
	p.t.Helper()
	folder = filepath.Join(p.dir, string(role)+"-"+name)
	issued, err := p.authority.Issue(authority.Request{Role: role, Name: name, Hosts: []string{"127.0.0.1"}}, time.Now())
	if err == nil {
		err = issued.Write(folder)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return folder, issued.Certificate
}

func (p *revocable) revoke(cert *x509.Certificate) {
	p.t.Helper()
	if _, err := p.authority.Revoke(func([]*x509.Certificate) ([]*x509.Certificate, error) { return []*x509.Certificate{cert}, nil }, time.Now()); err != nil {
		p.t.Fatal(err)
	}
}

// server returns the settings of a server with the certificate of a folder.
func (p *revocable) server(folder string) natsserver.Options {
	o := natsserver.Default()
	o.Listen, o.Cluster, o.CRL = "127.0.0.1:0", "c", filepath.Join(p.dir, "pki", authority.CRLFile)
	o.CA, o.Cert, o.Key = filesOf(folder)
	return o
}

func filesOf(folder string) (ca, cert, key string) {
	return filepath.Join(folder, authority.TrustFile), filepath.Join(folder, authority.CertFile), filepath.Join(folder, authority.KeyFile)
}
