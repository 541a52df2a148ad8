// Package credentialstest makes authorities and certificates for tests.
package credentialstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Authority signs certificates of one cluster.
type Authority struct {
	CA  string // file with its certificate
	CRL string // file with its list of revoked certificates

	t       testing.TB
	cluster string
	dir     string
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	serial  int64
	revoked []x509.RevocationListEntry
}

// New makes an authority in a folder of the test.
func New(t testing.TB, cluster string) *Authority {
	t.Helper()
	a := &Authority{t: t, cluster: cluster, dir: t.TempDir(), key: newKey(t), serial: 100}
	a.CA, a.CRL = filepath.Join(a.dir, "ca.pem"), filepath.Join(a.dir, "crl.pem")
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + cluster}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(1000 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	check(t, err)
	a.cert, err = x509.ParseCertificate(der)
	check(t, err)
	write(t, a.CA, "CERTIFICATE", der)
	a.writeCRL()
	return a
}

// Template returns a certificate of a role and name, for Sign, that is valid for an hour.
func (a *Authority) Template(role identity.Role, name string) *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), URIs: []*url.URL{credentials.URI(a.cluster, role, name)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

// Sign writes a certificate and its key into files of that name, in place of those that are
// there.
func (a *Authority) Sign(file string, template *x509.Certificate) (cert, key string) {
	a.t.Helper()
	k := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key)
	check(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	check(a.t, err)
	cert, key = filepath.Join(a.dir, file+".pem"), filepath.Join(a.dir, file+"-key.pem")
	write(a.t, cert, "CERTIFICATE", der)
	write(a.t, key, "PRIVATE KEY", secret)
	return cert, key
}

// Issue returns the options of a process with a new certificate of a role and name.
func (a *Authority) Issue(role identity.Role, name string) credentials.Options {
	a.t.Helper()
	cert, key := a.Sign(string(role)+"-"+name, a.Template(role, name))
	return credentials.Options{Cluster: a.cluster, CA: a.CA, Cert: cert, Key: key, CRL: a.CRL}
}

// Revoke puts the certificate of a file on the list.
func (a *Authority) Revoke(cert string) {
	a.t.Helper()
	text, err := os.ReadFile(cert)
	check(a.t, err)
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	check(a.t, err)
	a.revoked = append(a.revoked, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: time.Now()})
	a.writeCRL()
}

func (a *Authority) writeCRL() {
	a.t.Helper()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour), RevokedCertificateEntries: a.revoked,
	}, a.cert, a.key)
	check(a.t, err)
	write(a.t, a.CRL, "X509 CRL", der)
}

// Open returns credentials.
func Open(t testing.TB, o credentials.Options) *credentials.Credentials {
	t.Helper()
	c, err := credentials.Open(o)
	check(t, err)
	return c
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return k
}

func write(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	check(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
