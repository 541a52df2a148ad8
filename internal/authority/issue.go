package authority

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// MaxHosts bounds the hosts of a certificate.
const MaxHosts = 100

// Request is what a new certificate is for.
type Request struct {
	Role identity.Role
	Name string
	// Hosts are names and IP addresses under which others reach it. Pigeon's own daemons check
	// role and name instead; NATS clients and web browsers check these.
	Hosts []string
	// Lifetime is how long it is valid; 0: DefaultLifetime, or as long as the authority if
	// that is less.
	Lifetime time.Duration
}

// Issued is a certificate with its key.
type Issued struct {
	Certificate *x509.Certificate
	Cert, Key   []byte // PEM
	CA          []byte // PEM of the authority's
	list        string // file with what the authority has revoked
}

// Issue makes a key and a certificate for it. A copy of the certificate stays with the
// authority; the key is in the result only.
func (a *Authority) Issue(r Request, now time.Time) (*Issued, error) {
	s, err := Subject{Cluster: a.Cluster(), Role: r.Role, Name: r.Name}.check()
	if err != nil {
		return nil, err
	}
	until, err := a.until(s, r.Lifetime, now)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{Subject: s.distinguished(), NotBefore: now.Add(-slack), NotAfter: until}
	t.URIs = append(t.URIs, s.URI())
	if err := addHosts(t, s, r.Hosts); err != nil {
		return nil, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if !s.Role.IsPerson() {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	key, err := newKey()
	if err != nil {
		return nil, failed(a.dir, "making a key", err)
	}
	cert, err := a.sign(t, key.Public())
	if err != nil {
		return nil, err
	}
	text, err := encodeKey(key)
	if err != nil {
		return nil, failed(a.dir, "writing a key", err)
	}
	return &Issued{Certificate: cert, Cert: encodeCertificate(cert.Raw), Key: text, CA: encodeCertificate(a.cert.Raw), list: a.listPath()}, nil
}

// sign makes a certificate and keeps a copy.
func (a *Authority) sign(t *x509.Certificate, public any) (*x509.Certificate, error) {
	var err error
	if t.SerialNumber, err = newSerial(); err != nil {
		return nil, failed(a.dir, "drawing a serial number", err)
	}
	t.KeyUsage, t.BasicConstraintsValid = x509.KeyUsageDigitalSignature, true
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, public, a.key)
	if err != nil {
		return nil, failed(a.dir, "signing a certificate", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, failed(a.dir, "reading a certificate back", err)
	}
	if err := files.Replace(a.copyOf(cert), 0o600, encodeCertificate(der)); err != nil {
		return nil, failed(a.dir, "keeping a copy of a certificate", err)
	}
	return cert, nil
}

func (a *Authority) copyOf(c *x509.Certificate) string {
	return filepath.Join(a.dir, issuedFolder, Serial(c)+".pem")
}

// Serial returns the serial number of a certificate as this program shows it.
func Serial(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// until returns when a certificate of that lifetime ends.
func (a *Authority) until(s Subject, lifetime time.Duration, now time.Time) (time.Time, error) {
	switch {
	case !now.Before(a.cert.NotAfter):
		return now, &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("the authority ended on %s", a.cert.NotAfter.Format(time.DateOnly)), Subject: a.dir, Tried: "issuing a certificate for " + s.String(),
			Next: "make a new authority with 'pigeon pki init' in another folder, and issue all certificates anew",
		}
	case lifetime < 0:
		return now, badLifetime(lifetime, s.String())
	case lifetime == 0 && now.Add(DefaultLifetime).After(a.cert.NotAfter):
		return a.cert.NotAfter, nil
	case lifetime == 0:
		return now.Add(DefaultLifetime), nil
	case now.Add(lifetime).After(a.cert.NotAfter):
		return now, &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("it would end after its authority, which ends on %s", a.cert.NotAfter.Format(time.DateOnly)), Subject: "certificate of " + s.String(),
			Tried: "issuing it", Next: "give a shorter --ttl, or leave it out",
		}
	}
	return now.Add(lifetime), nil
}

var hostShape = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

func addHosts(t *x509.Certificate, s Subject, hosts []string) error {
	e := &api.Error{Problem: api.Invalid, Subject: "certificate of " + s.String(), Tried: "issuing it"}
	if len(hosts) > MaxHosts {
		e.What, e.Next = fmt.Sprintf("%d hosts are more than the limit of %d", len(hosts), MaxHosts), "name those under which others reach it"
		return e
	}
	for _, h := range hosts {
		switch ip := net.ParseIP(h); {
		case ip != nil && ip.IsUnspecified():
			e.What, e.Next = fmt.Sprintf("nobody reaches a host at %s", h), "give the address or the name that others use"
			return e
		case ip != nil:
			t.IPAddresses = append(t.IPAddresses, ip)
		case hostShape.MatchString(h) && len(h) <= 253:
			t.DNSNames = append(t.DNSNames, h)
		default:
			e.What, e.Next = fmt.Sprintf("%q is neither the name nor the IP address of a host", h), "give it without a port and a scheme, such as --host f0.example.org --host 10.0.0.1"
			return e
		}
	}
	return nil
}

// Vacant refuses a folder that has a certificate or a key already.
func Vacant(dir string) error {
	there := map[string]bool{}
	for _, name := range []string{CertFile, KeyFile} {
		_, err := os.Lstat(filepath.Join(dir, name))
		there[name] = !errors.Is(err, fs.ErrNotExist)
	}
	e := &api.Error{Problem: api.Invalid, Subject: dir, Tried: "writing a certificate and its key"}
	switch {
	case there[CertFile]:
		e.What, e.Next = "it has a file "+CertFile+" already", "renew that with 'pigeon pki renew', or name another folder with --out"
	case there[KeyFile]:
		e.What = "it has a file " + KeyFile + " without a " + CertFile + ", as after an interrupted 'pigeon pki issue'"
		e.Next = "remove " + KeyFile + " if nothing uses it, or name another folder with --out"
	default:
		return nil
	}
	return e
}

// Write writes tls.crt, tls.key and ca.crt into a folder, which is made with mode 0700, and makes ca.crl a link
// to the authority's list. The folder must be [Vacant], and not have the ca.crt of another authority. Of several
// callers, of any process, one writes. After an error nothing of it is left.
func (i *Issued) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(dir, "making the folder", err)
	}
	unlock, err := files.Lock(dir)
	if err != nil {
		return failed(dir, "locking the folder", err)
	}
	defer unlock()
	if err := Vacant(dir); err != nil {
		return err
	}
	trusted, err := i.trusted(dir)
	if err != nil {
		return err
	}
	type file struct {
		name string
		mode fs.FileMode
		text []byte
	}
	list := []file{{KeyFile, 0o600, i.Key}, {CertFile, 0o644, i.Cert}}
	if !trusted {
		list = slices.Insert(list, 1, file{TrustFile, 0o644, i.CA})
	}
	for n, f := range list {
		if err := files.Replace(filepath.Join(dir, f.name), f.mode, f.text); err != nil {
			for _, f := range list[:n+1] {
				_ = os.Remove(filepath.Join(dir, f.name)) // what stays is refused by the next call
			}
			return failed(filepath.Join(dir, f.name), "writing a certificate and its key", err)
		}
	}
	return i.link(dir)
}

// link has a folder follow the authority's list of what is revoked, unless it has a list.
func (i *Issued) link(dir string) error {
	list, err := filepath.Abs(i.list)
	own, wrong := filepath.Abs(dir)
	if err = errors.Join(err, wrong); err == nil {
		list, err = filepath.Rel(own, list)
	}
	if err == nil {
		err = os.Symlink(list, filepath.Join(dir, RevokedFile))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return failed(filepath.Join(dir, RevokedFile), "linking to the list of what is revoked", err)
	}
	return nil
}

// trusted reports whether a folder has the ca.crt of this authority already. One of another authority
// is refused, and so is the folder of another authority: those that read it would trust another cluster.
func (i *Issued) trusted(dir string) (found bool, err error) {
	for _, name := range []string{CAFile, TrustFile} {
		there, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false, failed(filepath.Join(dir, name), "reading what is there already", err)
		case bytes.Contains(there, bytes.TrimSpace(i.CA)):
			found = name == TrustFile
		default:
			return false, &api.Error{
				Problem: api.Invalid, What: "it has the " + name + " of another authority", Subject: dir, Tried: "writing a certificate and its key",
				Next: "name another folder with --out, or move that file away if nothing uses it",
			}
		}
	}
	return found, nil
}
