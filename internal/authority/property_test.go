package authority_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/await"
)

// verify checks a certificate as a daemon does.
func verify(c, ca *x509.Certificate, at time.Time, use x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}

var anyRequest = rapid.Custom(func(t *rapid.T) authority.Request {
	return authority.Request{
		Role: rapid.SampledFrom(authority.Roles()).Draw(t, "role"),
		Name: rapid.StringMatching(`[A-Za-z0-9_]([A-Za-z0-9._@+-]{0,62}[A-Za-z0-9_-])?`).Draw(t, "name"),
		Hosts: rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`[a-z][a-z0-9-]{0,20}[a-z0-9](\.[a-z0-9]{1,10}){0,3}`),
			rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("10.%d.0.1", rapid.IntRange(0, 255).Draw(t, "b")) }),
			rapid.Just("fd00::1"),
		), 0, 5).Draw(t, "hosts"),
		Lifetime: time.Duration(rapid.IntRange(0, 3000).Draw(t, "hours")) * time.Hour,
	}
})

// Every reader finds in the certificate what was asked for; it verifies exactly while it is
// valid, and as a server only if it is one; a renewed one is the same for longer, with its key.
func TestIssuedCertificates(t *testing.T) {
	now := time.Now()
	a, other := newAuthority(t, "my-cluster", now), newAuthority(t, "my-cluster", now)
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest.Draw(t, "request")
		i, err := a.Issue(r, now)
		if err != nil {
			t.Fatal(err)
		}
		c := i.Certificate
		want := authority.Subject{Cluster: "my-cluster", Role: r.Role, Name: r.Name}
		if s, ok := authority.SubjectOf(c); !ok || s != want {
			t.Fatalf("%+v instead of %+v", s, want)
		}
		if n := c.Subject; n.CommonName != r.Name || len(n.Organization) != 1 || n.Organization[0] != "my-cluster" || len(n.OrganizationalUnit) != 1 || n.OrganizationalUnit[0] != string(r.Role) {
			t.Fatalf("subject %v", n)
		}
		if len(c.DNSNames)+len(c.IPAddresses) != len(r.Hosts) {
			t.Fatalf("%v and %v of %v", c.DNSNames, c.IPAddresses, r.Hosts)
		}
		for _, h := range r.Hosts {
			if err := c.VerifyHostname(h); err != nil {
				t.Fatal(err)
			}
		}
		if seen[authority.Serial(c)] {
			t.Fatalf("the serial number %s was issued twice", authority.Serial(c))
		}
		seen[authority.Serial(c)] = true
		for at, good := range map[time.Duration]bool{0: true, -50 * time.Minute: true, -2 * time.Hour: false, c.NotAfter.Sub(now) - time.Second: true, c.NotAfter.Sub(now) + time.Second: false} {
			if err := verify(c, a.Certificate(), now.Add(at), x509.ExtKeyUsageClientAuth); (err == nil) != good {
				t.Fatalf("%v from now: %v", at, err)
			}
		}
		if err := verify(c, a.Certificate(), now, x509.ExtKeyUsageServerAuth); (err == nil) == r.Role.IsPerson() {
			t.Fatalf("as a server: %v", err)
		}
		if err := verify(c, other.Certificate(), now, x509.ExtKeyUsageClientAuth); err == nil {
			t.Fatal("another authority stands for it")
		}
		renewed(t, a, i, now)
	})
}

// renewed checks what renewing a certificate changes, and what it does not.
func renewed(t *rapid.T, a *authority.Authority, i *authority.Issued, now time.Time) {
	dir, err := os.MkdirTemp("", "renewed-*")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	dir = filepath.Join(dir, "host")
	if err := i.Write(dir); err != nil {
		t.Fatal(err)
	}
	later := now.Add(30 * day)
	if _, err := a.Renew(dir, 0, later); err != nil {
		t.Fatal(err)
	}
	old := i.Certificate
	c, err := authority.ReadCertificate(filepath.Join(dir, authority.CertFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.NotAfter.Sub(c.NotBefore), old.NotAfter.Sub(old.NotBefore); got < want-2*time.Second || got > want+2*time.Second || !c.NotAfter.After(old.NotAfter) {
		t.Fatalf("it lasts %v until %v instead of %v", got, c.NotAfter, want)
	}
	if !slices.Equal(c.DNSNames, old.DNSNames) || c.URIs[0].String() != old.URIs[0].String() || c.Subject.String() != old.Subject.String() || !slices.Equal(c.ExtKeyUsage, old.ExtKeyUsage) {
		t.Fatalf("%v became %v", old.Subject, c.Subject)
	}
	if authority.Serial(c) == authority.Serial(old) {
		t.Fatal("it has the serial number of the old one")
	}
	if key, err := os.ReadFile(filepath.Join(dir, authority.KeyFile)); err != nil || string(key) != string(i.Key) {
		t.Fatalf("the key has changed: %v", err)
	}
	if err := verify(c, a.Certificate(), later, x509.ExtKeyUsageClientAuth); err != nil {
		t.Fatal(err)
	}
}

// The list has exactly what was revoked, whatever the order and however often; it is signed, and
// its number grows.
func TestRevoked(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	var certs []*x509.Certificate
	for i := range 6 {
		issued, err := a.Issue(authority.Request{Role: "node", Name: fmt.Sprint("n", i)}, now)
		if err != nil {
			t.Fatal(err)
		}
		certs = append(certs, issued.Certificate)
	}
	want := map[string]bool{}
	number := int64(0)
	rapid.Check(t, func(t *rapid.T) {
		var some []*x509.Certificate
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "which") {
			some = append(some, certs[i])
			want[authority.Serial(certs[i])] = true
		}
		if _, err := a.Revoke(only(some...), now); err != nil {
			t.Fatal(err)
		}
		again, err := authority.Open(a.Dir())
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Revoked()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
		for serial := range want {
			if _, is := got[serial]; !is {
				t.Fatalf("%s is not on the list", serial)
			}
		}
		text, err := os.ReadFile(filepath.Join(a.Dir(), authority.CRLFile))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil || list.CheckSignatureFrom(a.Certificate()) != nil || list.Number.Int64() <= number || list.NextUpdate.Before(now.Add(9*365*day)) {
			t.Fatalf("%v, %+v", err, list)
		}
		number = list.Number.Int64()
	})
}

// only chooses these certificates.
func only(these ...*x509.Certificate) func([]*x509.Certificate) ([]*x509.Certificate, error) {
	return func([]*x509.Certificate) ([]*x509.Certificate, error) { return these, nil }
}

// A certificate that is renewed while it is revoked is revoked: it is not renewed before its
// revocation is known, or the new one is revoked too.
func TestRenewWhileRevoked(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	i, err := a.Issue(authority.Request{Role: "node", Name: "n"}, now)
	dir := filepath.Join(t.TempDir(), "host")
	if err := errors.Join(err, i.Write(dir)); err != nil {
		t.Fatal(err)
	}
	renewed := make(chan error, 1)
	chosen, err := a.Revoke(func(all []*x509.Certificate) ([]*x509.Certificate, error) {
		go func() {
			_, err := a.Renew(dir, 0, now)
			renewed <- err
		}()
		await.Until(t, "the renewal waits, or has ended", func() bool { return len(renewed) > 0 || waitsForLock(t) })
		return all, nil
	}, now)
	if err != nil || len(chosen) != 1 {
		t.Errorf("%d revoked, %v", len(chosen), err)
	}
	refused(t, <-renewed, "was revoked", "issue another one")
}

// waitsForLock reports whether this process waits for the lock of a file.
func waitsForLock(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(fmt.Sprintf(`(?m)-> FLOCK .* %d `, os.Getpid())).Match(text)
}

func TestRenewRefuses(t *testing.T) {
	now := time.Now()
	a, other := newAuthority(t, "pigeon", now), newAuthority(t, "pigeon", now)
	i, err := a.Issue(authority.Request{Role: "node", Name: "n"}, now)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "host")
	if err := i.Write(dir); err != nil {
		t.Fatal(err)
	}
	_, err = other.Renew(dir, 0, now)
	refused(t, err, "another authority issued it", "--dir")
	if _, err := a.Revoke(only(i.Certificate), now); err != nil {
		t.Fatal(err)
	}
	_, err = a.Renew(dir, 0, now)
	refused(t, err, "was revoked", "issue another one")
	_, err = a.Renew(t.TempDir(), 0, now)
	refused(t, err, "tls.crt", "no such file")
	if got, err := os.ReadFile(filepath.Join(dir, authority.CertFile)); err != nil || string(got) != string(i.Cert) {
		t.Errorf("the certificate has changed: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
	// A list signed by another key is not accepted.
	text, err := os.ReadFile(filepath.Join(other.Dir(), authority.CRLFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Dir(), authority.CRLFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = a.Revoked(); err == nil || !strings.Contains(err.Error(), authority.CRLFile) {
		t.Errorf("another authority's list is believed: %v", err)
	}
}
