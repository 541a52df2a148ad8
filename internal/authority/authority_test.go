package authority_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

const day = 24 * time.Hour

// newAuthority makes an authority in its own folder.
func newAuthority(t testing.TB, cluster string, now time.Time) *authority.Authority {
	t.Helper()
	a, err := authority.Init(filepath.Join(t.TempDir(), "pki"), cluster, authority.AuthorityLifetime, now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refused checks that an error has four parts and names what it must.
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Subject == "" || e.Next == "" || e.Tried == "" {
		t.Errorf("not in four parts: %v", err)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error lacks %q: %v", w, err)
		}
	}
}

// The folder belongs to one user, and so does the key; files that every process needs are readable
// by all.
func TestModes(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	issued, err := a.Issue(authority.Request{Role: identity.Node, Name: "n1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(t.TempDir(), "host")
	if err := issued.Write(host); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]fs.FileMode{
		a.Dir(): 0o700 | fs.ModeDir, filepath.Join(a.Dir(), "ca.key"): 0o600, filepath.Join(a.Dir(), "issued"): 0o700 | fs.ModeDir,
		filepath.Join(a.Dir(), authority.CAFile): 0o644, filepath.Join(a.Dir(), authority.CRLFile): 0o644,
		host: 0o700 | fs.ModeDir, filepath.Join(host, authority.KeyFile): 0o600, filepath.Join(host, authority.CertFile): 0o644, filepath.Join(host, authority.TrustFile): 0o644,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	if err := issued.Write(host); err == nil {
		t.Error("a key was overwritten")
	} else {
		refused(t, err, "tls.crt", "renew", "--out")
	}
}

// An authority that others can read, or that is damaged, is not used.
func TestOpenRefuses(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"a folder for all":       {func(dir string) error { return os.Chmod(dir, 0o755) }, "chmod 700"},
		"a key for all":          {func(dir string) error { return os.Chmod(filepath.Join(dir, "ca.key"), 0o644) }, "chmod 600"},
		"no certificate":         {func(dir string) error { return os.Remove(filepath.Join(dir, "ca.pem")) }, "pigeon pki init"},
		"no folder":              {os.RemoveAll, "pigeon pki init"},
		"a key of something":     {func(dir string) error { return os.WriteFile(filepath.Join(dir, "ca.key"), []byte("x"), 0o600) }, "PRIVATE KEY"},
		"a damaged certificate":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("x"), 0o600) }, "CERTIFICATE"},
		"an endless certificate": {func(dir string) error { return os.Truncate(filepath.Join(dir, "ca.pem"), 1<<30) }, "limit of 65536 bytes"},
		"another one's key": {func(dir string) error {
			other := newAuthority(t, "pigeon", now)
			text, err := os.ReadFile(filepath.Join(other.Dir(), "ca.key"))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "ca.key"), text, 0o600))
		}, "not that of the certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t, "pigeon", now)
			if err := c.spoil(a.Dir()); err != nil {
				t.Fatal(err)
			}
			_, err := authority.Open(a.Dir())
			refused(t, err, c.want)
		})
	}
}

// A second authority in a folder would make every certificate of the first one worthless.
func TestInitRefuses(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	before, err := os.ReadFile(filepath.Join(a.Dir(), authority.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = authority.Init(a.Dir(), "pigeon", day, now)
	refused(t, err, "already", "--dir")
	if after, err := os.ReadFile(filepath.Join(a.Dir(), authority.CAFile)); err != nil || string(after) != string(before) {
		t.Errorf("the certificate has changed: %v", err)
	}
	for _, name := range []string{"", "a b", "a/b", ".a", "a.", "a..b", "ü", strings.Repeat("a", 64)} {
		_, err := authority.Init(filepath.Join(t.TempDir(), "x"), name, day, now)
		refused(t, err, "cluster")
	}
	_, err = authority.Init(filepath.Join(t.TempDir(), "x"), "a", -day, now)
	refused(t, err, "--ttl")
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = authority.Init(open, "a", day, now)
	refused(t, err, "chmod 700")
}

func TestIssueRefuses(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	for _, c := range []struct {
		r    authority.Request
		want []string
	}{
		{authority.Request{Role: "king", Name: "a"}, []string{`"king"`, "frontend", "node", "nats", "user"}},
		{authority.Request{Role: identity.Superuser, Name: "a"}, []string{`"superuser"`}},
		{authority.Request{Role: identity.Node}, []string{`""`, "64"}},
		{authority.Request{Role: identity.Node, Name: "a/b"}, []string{`"a/b"`}},
		{authority.Request{Role: identity.Node, Name: "a\n"}, []string{"is no name"}},
		{authority.Request{Role: identity.Node, Name: "../a"}, []string{"is no name"}},
		{authority.Request{Role: identity.Node, Name: strings.Repeat("a", 65)}, []string{"64"}},
		{authority.Request{Role: identity.Node, Name: "a", Hosts: []string{"b:1"}}, []string{`"b:1"`, "without a port"}},
		{authority.Request{Role: identity.Node, Name: "a", Hosts: []string{"http://b"}}, []string{"scheme"}},
		{authority.Request{Role: identity.Node, Name: "a", Hosts: []string{"0.0.0.0"}}, []string{"0.0.0.0"}},
		{authority.Request{Role: identity.Node, Name: "a", Hosts: []string{"::"}}, []string{"::"}},
		{authority.Request{Role: identity.Node, Name: "a", Hosts: []string{""}}, []string{`""`}},
		{authority.Request{Role: identity.Node, Name: "a", Hosts: make([]string, 101)}, []string{"limit of 100"}},
		{authority.Request{Role: identity.Node, Name: "a", Lifetime: -1}, []string{"--ttl"}},
		{authority.Request{Role: identity.Node, Name: "a", Lifetime: 11 * 365 * day}, []string{"after its authority", "--ttl"}},
	} {
		_, err := a.Issue(c.r, now)
		refused(t, err, c.want...)
	}
	if list, err := a.Certificates(); err != nil || len(list) != 0 {
		t.Errorf("%d copies, %v", len(list), err)
	}
	_, err := a.Issue(authority.Request{Role: identity.Node, Name: "a"}, now.Add(authority.AuthorityLifetime+day))
	refused(t, err, "the authority ended", "pigeon pki init")
}

// Without a lifetime a certificate lasts a year, and no longer than its authority.
func TestLifetime(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	for at, want := range map[time.Duration]time.Duration{0: 365 * day, authority.AuthorityLifetime - 30*day: 30 * day} {
		i, err := a.Issue(authority.Request{Role: identity.Node, Name: "a"}, now.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		if got := i.Certificate.NotAfter.Sub(now.Add(at)); got < want-time.Second || got > want {
			t.Errorf("after %v: %v, want %v", at, got, want)
		}
	}
}

// handshake connects with TLS as a daemon and as its caller do, and returns what each says.
func handshake(server *authority.Issued, client *authority.Issued) (byServer, byClient error) {
	load := func(i *authority.Issued) (tls.Certificate, *x509.CertPool) {
		pair, err := tls.X509KeyPair(i.Cert, i.Key)
		if err != nil {
			panic(err) // Issue made it
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(i.CA)
		return pair, pool
	}
	near, far := pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	pair, pool := load(server)
	done := make(chan error, 1)
	go func() {
		c := tls.Server(far, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
		err := c.Handshake()
		if err == nil {
			_, err = c.Write([]byte{1}) // a client of TLS 1.3 learns only then that it is refused
		} else {
			_ = far.Close()
		}
		done <- err
	}()
	own, roots := load(client)
	c := tls.Client(near, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: roots, ServerName: "f0.example.org"})
	err := c.Handshake()
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if err != nil {
		_ = near.Close()
	}
	return <-done, err
}

// Certificates of one authority trust each other; those of an authority of another cluster, or
// of one that only has the same name, are refused by either side.
func TestAnotherAuthorityIsRefused(t *testing.T) {
	now := time.Now()
	ours, namesake, other := newAuthority(t, "pigeon", now), newAuthority(t, "pigeon", now), newAuthority(t, "other", now)
	issue := func(a *authority.Authority, role identity.Role) *authority.Issued {
		i, err := a.Issue(authority.Request{Role: role, Name: "x", Hosts: []string{"f0.example.org"}}, now)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	if s, c := handshake(issue(ours, identity.Frontend), issue(ours, identity.Node)); s != nil || c != nil {
		t.Errorf("of one authority: %v, %v", s, c)
	}
	if s, c := handshake(issue(ours, identity.Frontend), issue(ours, identity.User)); s != nil || c != nil {
		t.Errorf("a person: %v, %v", s, c)
	}
	for name, a := range map[string]*authority.Authority{"the same name": namesake, "another cluster": other} {
		if s, c := handshake(issue(ours, identity.Frontend), issue(a, identity.Node)); s == nil && c == nil {
			t.Errorf("%s: its client is served", name)
		}
		// A client that trusts the right authority and holds a certificate of the wrong one.
		forged := *issue(a, identity.Node)
		forged.CA = issue(ours, identity.Node).CA
		if s, _ := handshake(issue(ours, identity.Frontend), &forged); s == nil {
			t.Errorf("%s: its certificate is believed", name)
		}
		server := *issue(a, identity.Frontend)
		server.CA = forged.CA
		if _, c := handshake(&server, issue(ours, identity.Node)); c == nil {
			t.Errorf("%s: its server is believed", name)
		}
	}
	// A person's certificate is not accepted as a server's.
	if _, c := handshake(issue(ours, identity.User), issue(ours, identity.Node)); c == nil {
		t.Error("a person's certificate serves")
	}
}
