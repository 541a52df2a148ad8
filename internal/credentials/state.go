package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// state is the content of the files at one time. It does not change.
type state struct {
	authorities []*x509.Certificate
	roots       *x509.CertPool
	own         *tls.Certificate // nil without one
	self        identity.Principal
	revoked     map[string]bool // serial numbers
	seen        stamps
}

// load reads all files. The error is an *api.Error that names the file.
func (c *Credentials) load() (*state, error) {
	s := &state{seen: c.stamps()} // before the files: a change meanwhile is seen as one
	if c.opts.CA == "" {
		return s, nil
	}
	var err error
	if s.authorities, err = certificates(c.opts.CA); err != nil {
		return nil, unusable(c.opts.CA, "reading the certificates of the authorities", err)
	}
	s.roots = x509.NewCertPool()
	for _, a := range s.authorities {
		s.roots.AddCert(a)
	}
	if c.opts.CRL != "" && !c.withoutCRL() {
		if s.revoked, err = revocations(c.opts.CRL, s.authorities); err != nil {
			return nil, unusable(c.opts.CRL, "reading the list of revoked certificates", err)
		}
	}
	if c.opts.Cert == "" {
		return s, nil
	}
	if err := Missing(c.opts.Key); err != nil {
		return nil, err
	}
	if err := files.CheckSecret(c.opts.Key, "the key of the certificate"); err != nil {
		return nil, err
	}
	own, err := tls.LoadX509KeyPair(c.opts.Cert, c.opts.Key)
	if err != nil {
		return nil, unusable(c.opts.Cert, "reading the certificate and its key "+c.opts.Key, err)
	}
	if own.Leaf == nil {
		return nil, unusable(c.opts.Cert, "reading the certificate", errors.New("it holds none"))
	}
	s.own = &own
	if s.self, err = Named(own.Leaf, c.opts.Cluster); err != nil {
		return nil, unusable(c.opts.Cert, "reading whom the certificate names", err)
	}
	return s, nil
}

// withoutCRL reports whether nothing is revoked, since the list may be absent, is so, and was never read. A
// link to a list that is gone is no absence.
func (c *Credentials) withoutCRL() bool {
	before := c.state.Load()
	if !c.opts.CRLMayBeAbsent || before != nil && before.revoked != nil {
		return false
	}
	_, err := os.Lstat(c.opts.CRL)
	return errors.Is(err, fs.ErrNotExist)
}

// ends returns when the first of the own certificate and the authorities' expires; the zero
// time without TLS.
func (s *state) ends() (t time.Time) {
	certs := s.authorities
	if s.own != nil {
		certs = append([]*x509.Certificate{s.own.Leaf}, certs...)
	}
	for _, cert := range certs {
		if t.IsZero() || cert.NotAfter.Before(t) {
			t = cert.NotAfter
		}
	}
	return t
}

func unusable(file, tried string, err error) error {
	e := &api.Error{
		Problem: api.Invalid, Subject: file, What: err.Error(), Tried: tried,
		Next: "correct the file, or have it issued again ('pigeon pki')",
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.What = "it is not there"
		e.Next = "put it there: 'pigeon pki issue --out FOLDER' writes ca.crt, tls.crt and tls.key, for which a daemon has the setting tls; or correct the setting"
	}
	return e
}

// Missing returns an error that names the first of some files which is not there, nil when all are. "" is none.
func Missing(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); path != "" && errors.Is(err, fs.ErrNotExist) {
			return unusable(path, "reading certificates", err)
		}
	}
	return nil
}

// maxFile bounds a file of certificates, bytes.
const maxFile = 16 << 20

// blocks returns the blocks of a kind of a PEM file. Others in it are an error: a file with a
// key where one with certificates is wanted is a mistake that should show.
func blocks(file, kind string) ([][]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("it has %d bytes, and may have %d", info.Size(), maxFile)
	}
	if err != nil {
		return nil, err
	}
	rest, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type != kind {
			return nil, fmt.Errorf("it has a block %q where %q is expected", b.Type, kind)
		}
		all = append(all, b.Bytes)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("it has no block %q (PEM)", kind)
	}
	return all, nil
}

// certificates returns the certificates of a PEM file.
func certificates(file string) (all []*x509.Certificate, err error) {
	der, err := blocks(file, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	for _, b := range der {
		cert, err := x509.ParseCertificate(b)
		if err != nil {
			return nil, err
		}
		all = append(all, cert)
	}
	return all, nil
}

// revocations returns the serial numbers on the lists of a PEM file; one of the authorities
// must have signed each list.
func revocations(file string, authorities []*x509.Certificate) (map[string]bool, error) {
	der, err := blocks(file, "X509 CRL")
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, b := range der {
		list, err := x509.ParseRevocationList(b)
		if err != nil {
			return nil, err
		}
		if !signedByOne(list, authorities) {
			return nil, fmt.Errorf("its list of %v is signed by none of the authorities", list.Issuer)
		}
		for _, e := range list.RevokedCertificateEntries {
			all[e.SerialNumber.Text(16)] = true
		}
	}
	return all, nil
}

func signedByOne(list *x509.RevocationList, authorities []*x509.Certificate) bool {
	for _, a := range authorities {
		if list.CheckSignatureFrom(a) == nil {
			return true
		}
	}
	return false
}
