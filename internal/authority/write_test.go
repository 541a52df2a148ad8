package authority_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

func issued(t *testing.T, a *authority.Authority) *authority.Issued {
	t.Helper()
	i, err := a.Issue(authority.Request{Role: identity.Node, Name: "n1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Of two operators who issue certificates into one folder, one is refused, and the certificate there
// belongs to the key.
func TestWriteAtOnce(t *testing.T) {
	a := newAuthority(t, "pigeon", time.Now())
	for range 20 {
		dir := filepath.Join(t.TempDir(), "host")
		const operators = 4
		var all sync.WaitGroup
		results := make(chan error, operators)
		begin := make(chan struct{})
		for range operators {
			i := issued(t, a)
			all.Go(func() {
				<-begin
				results <- i.Write(dir)
			})
		}
		close(begin)
		all.Wait()
		written := 0
		for range operators {
			if err := <-results; err == nil {
				written++
			} else {
				refused(t, err, "tls.crt", "--out")
			}
		}
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, authority.CertFile), filepath.Join(dir, authority.KeyFile)); err != nil || written != 1 {
			t.Fatalf("%d of %d operators wrote: %v", written, operators, err)
		}
	}
}

// What cannot be written whole leaves no key behind, so that the same command can be repeated.
func TestWriteFails(t *testing.T) {
	a := newAuthority(t, "pigeon", time.Now())
	dir := t.TempDir()
	obstacle := filepath.Join(dir, authority.TrustFile)
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := issued(t, a).Write(dir); err == nil {
		t.Fatal("a folder was replaced")
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if err := issued(t, a).Write(dir); err != nil {
		t.Errorf("the second try: %v", err)
	}
}

// A key that an interrupted command has left is not said to be renewable.
func TestWriteBesideKey(t *testing.T) {
	a := newAuthority(t, "pigeon", time.Now())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, authority.KeyFile), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := issued(t, a).Write(dir)
	refused(t, err, "tls.key without a tls.crt", "remove tls.key", "--out")
}

// The ca.pem of another authority is not overwritten; that of the same one may be there, with others.
func TestWriteBesideAuthority(t *testing.T) {
	now := time.Now()
	a, other := newAuthority(t, "pigeon", now), newAuthority(t, "other", now)
	i := issued(t, a)
	refused(t, i.Write(other.Dir()), "ca.pem of another authority", "--out")
	if _, err := authority.Open(other.Dir()); err != nil {
		t.Errorf("the other authority: %v", err)
	}
	dir := t.TempDir()
	theirs, err := os.ReadFile(filepath.Join(other.Dir(), authority.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	both := append(bytes.Clone(theirs), i.CA...)
	if err := os.WriteFile(filepath.Join(dir, authority.TrustFile), both, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := i.Write(dir); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, authority.TrustFile)); err != nil || !bytes.Equal(kept, both) {
		t.Errorf("ca.crt was replaced: %v", err)
	}
}

// What a renewal and a revocation replace keeps its mode and, where the process may give it, its group:
// the daemons that could read it still can, and nobody else.
func TestModesAreKept(t *testing.T) {
	now := time.Now()
	a := newAuthority(t, "pigeon", now)
	dir := filepath.Join(t.TempDir(), "host")
	i := issued(t, a)
	if err := i.Write(dir); err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(dir, authority.CertFile), filepath.Join(a.Dir(), authority.CRLFile)}
	group := os.Getgid()
	if os.Geteuid() == 0 {
		group++
	}
	for _, path := range paths {
		if err := errors.Join(os.Chmod(path, 0o640), os.Chown(path, -1, group)); err != nil { //nolint:gosec // for a group of daemons
			t.Fatal(err)
		}
	}
	if _, err := a.Renew(dir, 0, now); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Revoke(func(all []*x509.Certificate) ([]*x509.Certificate, error) { return all, nil }, now); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var have syscall.Stat_t
		if err := syscall.Stat(path, &have); err != nil || have.Mode&0o777 != 0o640 || int(have.Gid) != group {
			t.Errorf("%s: mode %o and group %d, %v; want 640 and %d", path, have.Mode&0o777, have.Gid, err, group)
		}
	}
}
