package credentials_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/credentials/credentialstest"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handshake connects a client to a server over loopback; it returns the server's end and the
// first error of either end.
func handshake(t *testing.T, server, client *tls.Config) (net.Conn, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s, c := tls.Server(a, server), tls.Client(b, client)
	t.Cleanup(func() { a.Close(); b.Close() })
	served := make(chan error, 1)
	go func() { served <- s.Handshake() }()
	if err = c.Handshake(); err != nil {
		b.Close()
	}
	return s, errors.Join(err, <-served)
}

// TestMutualTLS: both ends know each other by role and name.
func TestMutualTLS(t *testing.T) {
	a := credentialstest.New(t, "c")
	master := credentialstest.Open(t, a.Issue(identity.Master, "0"))
	node := credentialstest.Open(t, a.Issue(identity.Node, "n 1"))
	conn, err := handshake(t, master.Server(), node.Client(identity.Master, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := master.Identify(conn)
	if err != nil || !p.Is(identity.Node, "n 1") || p.Proof != identity.Certificate || p.Credential == "" || p.Expires.IsZero() || p.Role == identity.Superuser {
		t.Fatalf("got %+v and %v", p, err)
	}
	if state := conn.(*tls.Conn).ConnectionState(); state.Version != tls.VersionTLS13 {
		t.Errorf("version %x", state.Version)
	}
}

// The warning of an end names the certificate that ends, and its file: an authority's cannot be renewed by
// renewing what it has signed.
func TestWarningNamesWhatEnds(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		authority, own time.Duration // lifetimes; 0 as the authority's
		want           []string      // warnings, of the files
	}{
		"neither":       {authority.AuthorityLifetime, 365 * 24 * time.Hour, nil},
		"own":           {authority.AuthorityLifetime, 24 * time.Hour, []string{"a certificate", authority.CertFile}},
		"the authority": {48 * time.Hour, 0, []string{"an authority", authority.TrustFile}},
		"both":          {48 * time.Hour, 24 * time.Hour, []string{"an authority", authority.TrustFile, "a certificate", authority.CertFile}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a, err := authority.Init(filepath.Join(dir, "pki"), "c", c.authority, now)
			if err != nil {
				t.Fatal(err)
			}
			issued, err := a.Issue(authority.Request{Role: identity.Node, Name: "n1", Lifetime: c.own}, now)
			if err == nil {
				err = issued.Write(dir)
			}
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			watched := credentialstest.Open(t, credentials.Options{
				Cluster: "c", CA: filepath.Join(dir, authority.TrustFile), Cert: filepath.Join(dir, authority.CertFile), Key: filepath.Join(dir, authority.KeyFile), Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			ctx, end := context.WithCancel(t.Context())
			end() // Watch looks once
			watched.Watch(ctx)
			want := len(c.want) / 2
			if got := strings.Count(log.String(), "level=WARN"); got != want {
				t.Errorf("%d warnings, want %d", got, want)
			}
			for _, text := range c.want {
				if !strings.Contains(log.String(), text) {
					t.Errorf("no %q", text)
				}
			}
			if t.Failed() {
				t.Log(log.String())
			}
		})
	}
}

// TestWrongDaemonIsRefused: a caller refuses a daemon that is not the one it called.
func TestWrongDaemonIsRefused(t *testing.T) {
	a, other := credentialstest.New(t, "c"), credentialstest.New(t, "c")
	strange := credentialstest.New(t, "strange")
	old := a.Template(identity.Master, "0")
	old.NotAfter = time.Now().Add(-time.Minute)
	cert, key := a.Sign("old", old)
	expired := credentials.Options{Cluster: "c", CA: a.CA, Cert: cert, Key: key}
	foreign := strange.Issue(identity.Master, "0")
	both := credentials.Options{Cluster: "strange", CA: foreign.CA, Cert: foreign.Cert, Key: foreign.Key}
	user := a.Template(identity.Master, "0")
	user.ExtKeyUsage = user.ExtKeyUsage[:1]
	cert, key = a.Sign("user", user)
	notForServers := credentials.Options{Cluster: "c", CA: a.CA, Cert: cert, Key: key}
	gone := a.Issue(identity.Master, "gone")
	a.Revoke(gone.Cert)
	node := credentialstest.Open(t, a.Issue(identity.Node, "n"))
	for name, c := range map[string]struct {
		server     credentials.Options
		role       identity.Role
		name, want string
	}{
		"another role":      {a.Issue(identity.Node, "0"), identity.Master, "0", `it is node "0"`},
		"another name":      {a.Issue(identity.Master, "1"), identity.Master, "0", `it is master "1"`},
		"another authority": {other.Issue(identity.Master, "0"), identity.Master, "0", "none of this cluster's authorities"},
		"another cluster":   {both, identity.Master, "0", "none of this cluster's authorities"},
		"expired":           {expired, identity.Master, "0", "clocks"},
		"for clients only":  {notForServers, identity.Master, "0", "not issued for this use"},
		"revoked":           {gone, identity.Master, "gone", "was revoked"},
	} {
		server := credentialstest.Open(t, withoutCRL(c.server))
		_, err := handshake(t, server.Server(), node.Client(c.role, c.name))
		var refused *credentials.PeerError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	server := credentialstest.Open(t, a.Issue(identity.Master, "7"))
	if _, err := handshake(t, server.Server(), node.Client(identity.Master, "")); err != nil {
		t.Errorf("a master of any name: %v", err)
	}
}

func withoutCRL(o credentials.Options) credentials.Options { o.CRL = ""; return o }

// TestWrongCallerIsRefused: a server says what is wrong with the certificate of a caller.
func TestWrongCallerIsRefused(t *testing.T) {
	a, other := credentialstest.New(t, "c"), credentialstest.New(t, "c")
	server := credentialstest.Open(t, a.Issue(identity.Frontend, "f"))
	sign := func(change func(*x509.Certificate)) credentials.Options {
		template := a.Template(identity.User, "alice")
		change(template)
		cert, key := a.Sign("changed-"+template.SerialNumber.String(), template)
		return credentials.Options{Cluster: "c", CA: a.CA, Cert: cert, Key: key}
	}
	uri := func(text string) func(*x509.Certificate) {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return func(c *x509.Certificate) { c.URIs = []*url.URL{u} }
	}
	for name, c := range map[string]struct {
		options credentials.Options
		want    string
	}{
		"another authority":    {other.Issue(identity.User, "alice"), "none of this cluster's authorities"},
		"another cluster":      {sign(uri("pigeon://d/user/alice")), `it is of the cluster "d"`},
		"expired":              {sign(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "clocks"},
		"not valid yet":        {sign(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "clocks"},
		"a role unknown":       {sign(uri("pigeon://c/king/alice")), `the role "king"`},
		"superuser":            {sign(uri("pigeon://c/superuser/alice")), `the role "superuser"`},
		"without a name":       {sign(uri("pigeon://c/user/")), "a name has"},
		"with too many parts":  {sign(uri("pigeon://c/user/alice/x")), "is not pigeon://CLUSTER/ROLE/NAME"},
		"with a query":         {sign(uri("pigeon://c/user/alice?x=1")), "is not pigeon://CLUSTER/ROLE/NAME"},
		"with two names":       {sign(func(c *x509.Certificate) { c.URIs = append(c.URIs, c.URIs[0]) }), "2 URIs"},
		"that names nobody":    {sign(func(c *x509.Certificate) { c.URIs = nil }), "neither a URI"},
		"for servers only":     {sign(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }), "not issued for this use"},
		"of two organizations": {sign(subject([]string{"c", "d"}, []string{"user"}, "alice")), "neither a URI"},
	} {
		// A client whose certificate only the server checks.
		pair, err := tls.LoadX509KeyPair(c.options.Cert, c.options.Key)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := handshake(t, server.Server(), &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}})
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := server.Identify(conn)
		refusal, _ := errors.AsType[*api.Error](err)
		if refusal == nil || refusal.Problem != api.Denied || !strings.Contains(refusal.What, c.want) || refusal.Next == "" || refusal.Tried == "" || p != (identity.Principal{}) {
			t.Errorf("%s: %+v and %v, want %q", name, p, err, c.want)
		}
	}
}

func subject(o, ou []string, cn string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.URIs, c.Subject = nil, pkix.Name{Organization: o, OrganizationalUnit: ou, CommonName: cn}
	}
}

// TestSubjectNames: authorities that issue no URIs name cluster, role and name in the subject.
func TestSubjectNames(t *testing.T) {
	a := credentialstest.New(t, "c")
	template := a.Template(identity.Master, "3")
	subject([]string{"c"}, []string{"master"}, "3")(template)
	cert, key := a.Sign("subject", template)
	own := credentialstest.Open(t, credentials.Options{Cluster: "c", CA: a.CA, Cert: cert, Key: key})
	if p, ok := own.Self(); !ok || !p.Is(identity.Master, "3") {
		t.Fatalf("got %+v, %v", p, ok)
	}
	if _, err := handshake(t, own.Server(), own.Client(identity.Master, "3")); err != nil {
		t.Error(err)
	}
}

// TestCallersWithoutCertificate: people call with tokens, and no anonymous caller is taken for a
// user.
func TestCallersWithoutCertificate(t *testing.T) {
	a := credentialstest.New(t, "c")
	server := credentialstest.Open(t, a.Issue(identity.Frontend, "f"))
	person := credentialstest.Open(t, credentials.Options{Cluster: "c", CA: a.CA})
	conn, err := handshake(t, server.Server(), person.Client(identity.Frontend, ""))
	if err != nil {
		t.Fatal(err)
	}
	p, err := server.Identify(conn)
	if err != nil || p.Proof == identity.Certificate || runtime.GOOS == "linux" && (p.Proof != identity.Kernel || p.Role != identity.Superuser) {
		t.Errorf("without a certificate this user's process is %+v, %v", p, err)
	}
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if p, err := server.Identify(pipe); err != nil || p != (identity.Principal{}) {
		t.Errorf("who calls through a pipe is %+v, %v", p, err)
	}
	if person.Server() != nil {
		t.Error("without a certificate nothing can be served by TLS")
	}
	var none *credentials.Credentials
	if p, err = none.Identify(conn); err != nil || p != (identity.Principal{}) || none.Client(identity.Master, "") != nil || none.Server() != nil || none.Valid(p) != nil {
		t.Error("without credentials a caller is known")
	}
	if _, err := none.Authenticate("x"); err == nil {
		t.Error("without credentials a token proves something")
	}
}

// TestRevocationAndReload: a certificate that is revoked or renewed in its file counts at the next
// call and connection; files that cannot be used change nothing.
func TestRevocationAndReload(t *testing.T) {
	a := credentialstest.New(t, "c")
	o := a.Issue(identity.Master, "0")
	o.Poll = time.Millisecond
	server := credentialstest.Open(t, o)
	client := a.Issue(identity.Node, "n")
	node := credentialstest.Open(t, client)
	conn, err := handshake(t, server.Server(), node.Client(identity.Master, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := server.Identify(conn)
	if err != nil || server.Valid(p) != nil {
		t.Fatalf("%v, %v", err, server.Valid(p))
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { defer close(watched); server.Watch(ctx) }()
	defer func() { cancel(); <-watched }()
	generation := server.To(identity.Node, "").Generation

	a.Revoke(client.Cert)
	await.Until(t, "the revocation is known", func() bool { return server.Valid(p) != nil })
	if _, err := server.Identify(conn); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a revoked certificate: %v", err)
	}

	before := generation()
	good, err := os.ReadFile(o.Cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Cert, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the broken file was seen", func() bool { return server.Failed() > 0 })
	if generation() != before {
		t.Error("a broken file replaced the certificate")
	}
	if _, err := handshake(t, server.Server(), credentialstest.Open(t, a.Issue(identity.Node, "m")).Client(identity.Master, "0")); err != nil {
		t.Errorf("the certificate before a broken file: %v", err)
	}

	renewed := a.Template(identity.Master, "0")
	renewed.NotAfter = time.Now().Add(100 * time.Hour)
	a.Sign("master-0", renewed)
	await.Until(t, "the renewed certificate is used", func() bool { return generation() > before && server.DaysLeft() > 2 })
}

// TestRepairWithoutATrace: files that could not be used are read again although neither their sizes nor
// their times have changed since, as after a repair of their permissions.
func TestRepairWithoutATrace(t *testing.T) {
	a := credentialstest.New(t, "c")
	o := a.Issue(identity.Master, "0")
	o.Poll = time.Millisecond
	client := a.Issue(identity.Node, "n")
	server, node := credentialstest.Open(t, o), credentialstest.Open(t, client)
	conn, err := handshake(t, server.Server(), node.Client(identity.Master, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := server.Identify(conn)
	if err != nil {
		t.Fatal(err)
	}
	a.Revoke(client.Cert)
	good, err := os.ReadFile(o.CRL)
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Minute)
	write := func(data []byte) {
		t.Helper()
		file := o.CRL + ".new"
		if err := errors.Join(os.WriteFile(file, data, 0o600), os.Chtimes(file, then, then), os.Rename(file, o.CRL)); err != nil {
			t.Fatal(err)
		}
	}
	write(make([]byte, len(good)))
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { defer close(watched); server.Watch(ctx) }()
	defer func() { cancel(); <-watched }()
	await.Until(t, "the broken list was seen", func() bool { return server.Failed() > 0 })
	write(good)
	await.Until(t, "the revocation is known", func() bool { return server.Valid(p) != nil })
}

// TestExpiry: a principal whose proof has expired is not accepted any more.
func TestExpiry(t *testing.T) {
	var c *credentials.Credentials
	for proof, until := range map[identity.Proof]time.Time{identity.Token: time.Now().Add(-time.Second), identity.Certificate: time.Now().Add(-time.Hour)} {
		err := c.Valid(identity.Principal{Name: "alice", Role: identity.User, Proof: proof, Credential: "1", Expires: until})
		if refusal, ok := errors.AsType[*api.Error](err); !ok || refusal.Problem != api.Denied || !strings.Contains(refusal.What, "ended at") {
			t.Errorf("%s: %v", proof, err)
		}
	}
	if err := c.Valid(identity.Principal{Role: identity.User, Proof: identity.Token, Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Error(err)
	}
}

// tokens accepts one token, until it is revoked.
type tokens struct{ revoked bool }

func (k *tokens) Principal(token string) (identity.Principal, error) {
	if token != "secret" {
		return identity.Principal{}, &api.Error{Problem: api.Denied, What: "no such token"}
	}
	return identity.Principal{Name: "alice", Role: identity.User, Proof: identity.Token, Credential: "id-1", Expires: time.Now().Add(time.Hour)}, nil
}

func (k *tokens) Revoked(id string) bool { return k.revoked && id == "id-1" }

// TestTokens: a token proves the identity of the caller until it is revoked.
func TestTokens(t *testing.T) {
	k := &tokens{}
	c := credentialstest.Open(t, credentials.Options{Tokens: k})
	p, err := c.Authenticate("secret")
	if err != nil || p.Name != "alice" || c.Valid(p) != nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := c.Authenticate("guessed"); err == nil {
		t.Error("a guessed token proves something")
	}
	k.revoked = true
	if err := c.Valid(p); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a revoked token: %v", err)
	}
}

// TestFilesThatCannotBeUsed: the error names the file and what it lacks.
func TestFilesThatCannotBeUsed(t *testing.T) {
	a, other := credentialstest.New(t, "c"), credentialstest.New(t, "c")
	good := a.Issue(identity.Master, "0")
	readable := filepath.Join(t.TempDir(), "key")
	if text, err := os.ReadFile(good.Key); err != nil || os.WriteFile(readable, text, 0o600) != nil || os.Chmod(readable, 0o644) != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*credentials.Options){
		"a missing authority":           func(o *credentials.Options) { o.CA = "missing.pem" },
		"a key where a certificate is":  func(o *credentials.Options) { o.CA = o.Key },
		"a key of another":              func(o *credentials.Options) { o.Key = a.Issue(identity.Master, "1").Key },
		"a key that others may read":    func(o *credentials.Options) { o.Key = readable },
		"another cluster's certificate": func(o *credentials.Options) { o.Cluster = "d" },
		"another authority's list":      func(o *credentials.Options) { o.CRL = other.CRL },
		"a certificate as a list":       func(o *credentials.Options) { o.CRL = o.Cert },
	} {
		o := good
		change(&o)
		_, err := credentials.Open(o)
		if refusal, ok := errors.AsType[*api.Error](err); !ok || refusal.Subject == "" || refusal.What == "" || refusal.Tried == "" || refusal.Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzNamed: a certificate, whatever it contains, names either no principal, or one of this
// cluster with a role that certificates may have.
func FuzzNamed(f *testing.F) {
	for _, text := range []string{"pigeon://c/user/alice", "pigeon://c/superuser/x", "pigeon://c//x", "pigeon:c/user/x", "pigeon://u@c:1/node/%2f", "https://c/user/x", "pigeon://c/user/%00"} {
		f.Add(text, "c", "node", "n")
	}
	f.Fuzz(func(t *testing.T, text, o, ou, cn string) {
		cert := &x509.Certificate{Subject: pkix.Name{Organization: []string{o}, OrganizationalUnit: []string{ou}, CommonName: cn}}
		if u, err := url.Parse(text); err == nil {
			cert.URIs = []*url.URL{u}
		}
		p, err := credentials.Named(cert, "c")
		if err != nil {
			if p != (identity.Principal{}) {
				t.Fatalf("%+v with %v", p, err)
			}
			return
		}
		if !p.Role.IsPerson() && !p.Role.IsDaemon() || p.Name == "" || p.Proof != identity.Certificate {
			t.Fatalf("%q names %+v", text, p)
		}
		again, err := credentials.Named(&x509.Certificate{URIs: []*url.URL{credentials.URI("c", p.Role, p.Name)}}, "c")
		if err != nil || again.Name != p.Name || again.Role != p.Role {
			t.Fatalf("%+v, written and read again: %+v, %v", p, again, err)
		}
	})
}

// A folder may have no list of what is revoked; one that was there must stay, and a link that leads nowhere is
// not taken for none.
func TestCRLMayBeAbsent(t *testing.T) {
	a := credentialstest.New(t, "c")
	o := a.Issue(identity.Node, "n1")
	list, err := os.ReadFile(o.CRL)
	if err != nil {
		t.Fatal(err)
	}
	o.CRL, o.CRLMayBeAbsent = filepath.Join(t.TempDir(), authority.RevokedFile), true
	c := credentialstest.Open(t, o)
	if err := c.Reload(); err != nil {
		t.Errorf("still none: %v", err)
	}
	if err := errors.Join(os.WriteFile(o.CRL, list, 0o600), c.Reload()); err != nil {
		t.Errorf("a list: %v", err)
	}
	if err := os.Remove(o.CRL); err != nil || c.Reload() == nil {
		t.Errorf("a list that is gone is taken for none (%v)", err)
	}
	if err := os.Symlink("nowhere", o.CRL); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.Open(o); err == nil || !strings.Contains(err.Error(), o.CRL) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}
