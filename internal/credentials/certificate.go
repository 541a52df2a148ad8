package credentials

import (
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// ofCertificate returns the principal that a client's certificate names, once it is verified.
func (c *Credentials) ofCertificate(certs []*x509.Certificate) (identity.Principal, error) {
	p, err := c.verify(certs, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return identity.Principal{}, &api.Error{
			Problem: api.Denied, Subject: "certificate of " + certs[0].Subject.String(), Tried: "checking who calls",
			What: err.Error(), Next: "use a certificate that this cluster's authority has issued ('pigeon pki issue', 'pigeon pki renew')",
		}
	}
	return p, nil
}

// verifyDaemon returns why the process that answers is not the daemon that was to be called.
func (c *Credentials) verifyDaemon(certs []*x509.Certificate, role identity.Role, name string) error {
	if len(certs) == 0 {
		return &PeerError{errors.New("it has shown no certificate")}
	}
	p, err := c.verify(certs, x509.ExtKeyUsageServerAuth)
	switch {
	case err != nil:
		return &PeerError{err}
	case p.Role != role:
		return &PeerError{fmt.Errorf("it is %s %q, and a %s was called", p.Role, p.Name, role)}
	case name != "" && p.Name != name:
		return &PeerError{fmt.Errorf("it is %s %q, and %s %q was called", p.Role, p.Name, role, name)}
	}
	return nil
}

// PeerError is why the certificate of a daemon that was called is refused.
type PeerError struct{ Reason error }

func (e *PeerError) Error() string {
	return "the certificate of the other side is refused: " + e.Reason.Error()
}

// Unwrap returns the reason.
func (e *PeerError) Unwrap() error { return e.Reason }

// verify returns the principal that the first of the certificates names, which the others
// lead to an authority. Its principal ends when the first certificate of the chain ends.
func (c *Credentials) verify(certs []*x509.Certificate, use x509.ExtKeyUsage) (identity.Principal, error) {
	s := c.state.Load()
	if s.roots == nil {
		return identity.Principal{}, errors.New("no authority is known here that could have signed it (tls_ca)")
	}
	between := x509.NewCertPool()
	for _, cert := range certs[1:] {
		between.AddCert(cert)
	}
	chains, err := certs[0].Verify(x509.VerifyOptions{Roots: s.roots, Intermediates: between, CurrentTime: c.now(), KeyUsages: []x509.ExtKeyUsage{use}})
	if err != nil {
		return identity.Principal{}, explained(certs[0], err)
	}
	chain, err := s.unrevoked(chains)
	if err != nil {
		return identity.Principal{}, err
	}
	p, err := Named(certs[0], c.opts.Cluster)
	if err != nil {
		return identity.Principal{}, err
	}
	for _, cert := range chain {
		if cert.NotAfter.Before(p.Expires) {
			p.Expires = cert.NotAfter
		}
	}
	return p, nil
}

// unrevoked returns the first chain in which no certificate is revoked.
func (s *state) unrevoked(chains [][]*x509.Certificate) ([]*x509.Certificate, error) {
	var why error
next:
	for _, chain := range chains {
		for _, cert := range chain {
			if s.revoked[serial(cert)] {
				why = fmt.Errorf("certificate %s was revoked", serial(cert))
				continue next
			}
		}
		return chain, nil
	}
	return nil, why
}

// Revoked reports whether a certificate is on the list of revoked ones.
func (c *Credentials) Revoked(cert *x509.Certificate) bool {
	return c.state.Load().revoked[serial(cert)]
}

// Authorities returns the certificates of the authorities as they were read last, nil without any. They are not
// to be changed.
func (c *Credentials) Authorities() *x509.CertPool { return c.state.Load().roots }

// explained names what the operator can do something about.
func explained(cert *x509.Certificate, err error) error {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case ok && invalid.Reason == x509.Expired:
		return fmt.Errorf("it is valid from %s to %s only; check the clocks of both machines: %w", cert.NotBefore.UTC().Format("2006-01-02 15:04"), cert.NotAfter.UTC().Format("2006-01-02 15:04"), err)
	case ok && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("it was not issued for this use: %w", err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("it is signed by %v, which is none of this cluster's authorities: %w", cert.Issuer, err)
	}
	return err
}
