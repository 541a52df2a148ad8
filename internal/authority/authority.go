package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// The names of the files of an authority.
const (
	CAFile  = "ca.pem"
	CRLFile = "crl.pem"

	keyOfAuthority = "ca.key"
	issuedFolder   = "issued"
)

// The names of the files in the folder of a certificate, as Kubernetes names those of a Secret: the
// certificates of the authorities, the certificate, its key, and the list of what is revoked.
const (
	TrustFile   = "ca.crt"
	CertFile    = "tls.crt"
	KeyFile     = "tls.key"
	RevokedFile = "ca.crl"
)

const (
	day = 24 * time.Hour
	// DefaultLifetime is how long a certificate is valid.
	DefaultLifetime = 365 * day
	// AuthorityLifetime is how long the authority's own is valid.
	AuthorityLifetime = 10 * 365 * day
	// slack is how long before its issue a certificate is already valid, for hosts whose
	// clocks are behind.
	slack = time.Hour
)

// Authority is a certificate authority. Make it with Init or Open; its methods may be called
// from anywhere, by several processes too.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Init makes an authority for a cluster in a folder, which is made too. A folder that has one
// already is refused: the certificates of the old one would become worthless.
func Init(dir, cluster string, lifetime time.Duration, now time.Time) (*Authority, error) {
	if err := checkCluster(cluster); err != nil {
		return nil, err
	}
	if lifetime <= 0 {
		return nil, badLifetime(lifetime, "authority of "+cluster)
	}
	if err := os.MkdirAll(filepath.Join(dir, issuedFolder), 0o700); err != nil {
		return nil, failed(dir, "making the folder", err)
	}
	if err := files.CheckFolder(dir, "the authority"); err != nil {
		return nil, err
	}
	unlock, err := files.Lock(dir)
	if err != nil {
		return nil, failed(dir, "locking the folder", err)
	}
	defer unlock()
	if _, err := os.Lstat(filepath.Join(dir, CAFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, &api.Error{
			Problem: api.Invalid, What: "an authority is there already", Subject: dir, Tried: "making one for the cluster " + cluster,
			Next: "issue certificates with it, or name another folder with --dir",
		}
	}
	a := &Authority{dir: dir}
	if err := a.make(cluster, lifetime, now); err != nil {
		return nil, failed(dir, "making the authority", err)
	}
	return a, nil
}

// make makes the key and the certificate, and writes all files, the certificate last.
func (a *Authority) make(cluster string, lifetime time.Duration, now time.Time) (err error) {
	if a.key, err = newKey(); err != nil {
		return err
	}
	serial, err := newSerial()
	if err != nil {
		return err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{cluster}, CommonName: authorityName + cluster},
		NotBefore:    now.Add(-slack), NotAfter: now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, a.key.Public(), a.key)
	if err != nil {
		return err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	key, err := encodeKey(a.key)
	if err != nil {
		return err
	}
	list, err := a.encodeList(nil, big.NewInt(1), now)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		mode fs.FileMode
		text []byte
	}{{keyOfAuthority, 0o600, key}, {CRLFile, 0o644, list}, {CAFile, 0o644, encodeCertificate(der)}} {
		if err := files.Replace(filepath.Join(a.dir, f.name), f.mode, f.text); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the authority of a folder. Only a user who may read its key can.
func Open(dir string) (*Authority, error) {
	if err := files.CheckFolder(dir, "the authority"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, absent(dir)
		}
		return nil, err
	}
	cert, err := ReadCertificate(filepath.Join(dir, CAFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(dir)
	}
	if err != nil {
		return nil, err
	}
	text, err := files.ReadPrivate(filepath.Join(dir, keyOfAuthority), "the key of the authority", maxPEM)
	if err != nil {
		return nil, err
	}
	key, err := decodeKey(text)
	if err != nil {
		return nil, damaged(filepath.Join(dir, keyOfAuthority), err)
	}
	public, ok := cert.PublicKey.(*ecdsa.PublicKey)
	_, made := ClusterOf(cert)
	if !ok || !made || !public.Equal(key.Public()) {
		return nil, damaged(dir, errors.New("the key is not that of the certificate, or pigeon pki init did not make the certificate"))
	}
	return &Authority{dir: dir, cert: cert, key: key}, nil
}

// Cluster returns the cluster of the authority.
func (a *Authority) Cluster() string {
	name, _ := ClusterOf(a.cert) // Open and Init have made sure that there is one
	return name
}

// Certificate returns the authority's own.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// Dir returns the folder.
func (a *Authority) Dir() string { return a.dir }

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// newSerial returns a number of up to 127 random bits, at least 1, so that two authorities of
// one name never issue the same.
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}

func absent(dir string) error {
	return &api.Error{
		Problem: api.NotFound, What: "no authority is there", Subject: dir, Tried: "opening it",
		Next: "make one with 'pigeon pki init', or name its folder with --dir",
	}
}

func failed(path, tried string, err error) error {
	return &api.Error{Problem: api.Internal, What: err.Error(), Subject: path, Tried: tried, Next: "name another folder, or allow it to this user"}
}

func damaged(path string, err error) error {
	return &api.Error{Problem: api.Invalid, What: err.Error(), Subject: path, Tried: "reading it", Next: "restore it from a backup, or name another one"}
}

func badLifetime(d time.Duration, subject string) error {
	return &api.Error{Problem: api.Invalid, What: fmt.Sprintf("a lifetime of %v ends before it begins", d), Subject: subject, Tried: "making its certificate", Next: "give --ttl above zero, such as 365d"}
}
