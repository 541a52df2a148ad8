package natsserver_test

import (
	"crypto/x509"
	"path/filepath"
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
	dir := t.TempDir()
	a, err := authority.Init(filepath.Join(dir, "pki"), "c", time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	issue := func(role identity.Role, name string) (folder string, cert *x509.Certificate) {
		t.Helper()
		folder = filepath.Join(dir, string(role)+"-"+name)
		issued, err := a.Issue(authority.Request{Role: role, Name: name, Hosts: []string{"127.0.0.1"}}, time.Now())
		if err == nil {
			err = issued.Write(folder)
		}
		if err != nil {
			t.Fatal(err)
		}
		return folder, issued.Certificate
	}
	files := func(folder string) (ca, cert, key string) {
		return filepath.Join(folder, authority.CAFile), filepath.Join(folder, authority.CertFile), filepath.Join(folder, authority.KeyFile)
	}
	own, _ := issue(authority.NATS, "n1")
	o := natsserver.Default()
	o.Listen, o.Cluster, o.CRL, o.Log = "127.0.0.1:0", "c", filepath.Join(dir, "pki", authority.CRLFile), daemontest.Log(t)
	o.CA, o.Cert, o.Key = files(own)
	s, err := natsserver.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	connected := func(folder string) *nats.Conn {
		t.Helper()
		access := notice.Access{URL: s.URL()}
		access.CA, access.Cert, access.Key = files(folder)
		nc, _ := client(t, access)
		return nc
	}
	folder, cert := issue(identity.Frontend, "f0")
	excluded := connected(folder)
	folder, _ = issue(identity.Frontend, "f1")
	other := connected(folder)
	if _, err := a.Revoke(func([]*x509.Certificate) ([]*x509.Certificate, error) { return []*x509.Certificate{cert}, nil }, time.Now()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the connection has ended", excluded.IsClosed)
	if err := other.FlushTimeout(time.Minute); err != nil {
		t.Errorf("the connection of another daemon: %v", err)
	}
}
