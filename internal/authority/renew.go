package authority

import (
	"crypto/x509"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// Renew replaces the certificate in a folder by one that begins now, for the same subject, hosts
// and key, and returns it. lifetime 0 keeps the lifetime that it had. A reader of tls.crt sees the
// old one or the new one. A certificate of another authority, and one that is revoked, are refused;
// none is revoked meanwhile, so that a new one is among those that [Authority.Revoke] has to choose
// from.
func (a *Authority) Renew(dir string, lifetime time.Duration, now time.Time) (*x509.Certificate, error) {
	unlock, err := files.Lock(a.dir)
	if err != nil {
		return nil, failed(a.dir, "locking the folder", err)
	}
	defer unlock()
	path := filepath.Join(dir, CertFile)
	old, err := ReadCertificate(path)
	if err != nil {
		return nil, err
	}
	s, err := a.own(old, path)
	if err != nil {
		return nil, err
	}
	if lifetime == 0 {
		lifetime = min(old.NotAfter.Sub(old.NotBefore)-slack, a.cert.NotAfter.Sub(now))
	}
	until, err := a.until(s, lifetime, now)
	if err != nil {
		return nil, err
	}
	cert, err := a.sign(&x509.Certificate{
		Subject: s.distinguished(), URIs: old.URIs, DNSNames: old.DNSNames, IPAddresses: old.IPAddresses,
		ExtKeyUsage: old.ExtKeyUsage, NotBefore: now.Add(-slack), NotAfter: until,
	}, old.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := files.Rewrite(path, 0o644, encodeCertificate(cert.Raw)); err != nil {
		return nil, failed(path, "replacing a certificate", err)
	}
	return cert, nil
}

// own returns the subject of a certificate, if this authority issued it and has not revoked it.
func (a *Authority) own(c *x509.Certificate, path string) (Subject, error) {
	s, named := SubjectOf(c)
	if err := c.CheckSignatureFrom(a.cert); err != nil || !named {
		return s, &api.Error{
			Problem: api.Invalid, What: "another authority issued it", Subject: path, Tried: "looking it up at the authority in " + a.dir,
			Next: "name that authority's folder with --dir",
		}
	}
	revoked, err := a.Revoked()
	if err != nil {
		return s, err
	}
	if when, is := revoked[Serial(c)]; is {
		return s, &api.Error{
			Problem: api.Invalid, What: fmt.Sprintf("it was revoked on %s", when.Format(time.DateOnly)), Subject: path, Tried: "renewing it",
			Next: "issue another one for " + s.String() + " with a key of its own",
		}
	}
	return s, nil
}

// EndsWithin reports whether a certificate ends within that time.
func EndsWithin(c *x509.Certificate, d time.Duration, now time.Time) bool {
	return now.Add(d).After(c.NotAfter)
}
