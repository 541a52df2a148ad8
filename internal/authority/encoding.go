package authority

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pigeon-sched/pigeon/internal/api"
)

// The types of PEM blocks.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY" // PKCS #8, which Go, Java and OpenSSL read
	listBlock        = "X509 CRL"
)

// maxPEM bounds the file of a certificate or a key, maxList that of revoked certificates:
// 40 bytes for each make it some 100,000.
const (
	maxPEM  = 64 << 10
	maxList = 6 << 20
)

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), err
}

func decodeKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyBlock {
		return nil, errors.New("it has no block " + keyBlock)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	ours, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("its key is a %T, and not one that this program makes", key)
	}
	return ours, nil
}

// ReadCertificate reads the first certificate of a file. The error is an *api.Error; for a
// missing file it is also fs.ErrNotExist.
func ReadCertificate(path string) (*x509.Certificate, error) {
	text, err := readBounded(path, maxPEM)
	if err != nil {
		return nil, unread(path, err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != certificateBlock {
		return nil, damaged(path, errors.New("it has no block "+certificateBlock))
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, damaged(path, err)
	}
	return c, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("it has more than the limit of %d bytes", most)
	}
	return text, nil
}

func unread(path string, err error) error {
	e := &api.Error{Problem: api.Invalid, What: err.Error(), Subject: path, Tried: "reading a certificate", Next: "name another file, or allow it to this user"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Problem, e.What = api.NotFound, "there is no such file"
		return &missingError{e}
	}
	return e
}

// missingError is the error of a file that is not there, in four parts.
type missingError struct{ parts *api.Error }

func (e *missingError) Error() string   { return e.parts.Error() }
func (e *missingError) Unwrap() []error { return []error{e.parts, fs.ErrNotExist} }
