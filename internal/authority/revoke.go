package authority

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// MaxRevoked bounds the list of revoked certificates, which each daemon holds in memory.
const MaxRevoked = 100_000

// Revoke puts certificates on the list of the revoked ones, and returns them: those that choose
// returns of all that were issued. No certificate is renewed meanwhile. One that is on the list
// already stays as it is.
func (a *Authority) Revoke(choose func(all []*x509.Certificate) ([]*x509.Certificate, error), now time.Time) (chosen []*x509.Certificate, err error) {
	unlock, err := files.Lock(a.dir)
	if err != nil {
		return nil, failed(a.dir, "locking the folder", err)
	}
	defer unlock()
	all, err := a.Certificates()
	if err != nil {
		return nil, err
	}
	if chosen, err = choose(all); err != nil {
		return nil, err
	}
	return chosen, a.revoke(chosen, now)
}

// revoke needs the lock of the folder.
func (a *Authority) revoke(certs []*x509.Certificate, now time.Time) error {
	list, err := a.list()
	if err != nil {
		return err
	}
	entries := list.RevokedCertificateEntries
	for _, c := range certs {
		known := slices.ContainsFunc(entries, func(e x509.RevocationListEntry) bool { return e.SerialNumber.Cmp(c.SerialNumber) == 0 })
		if !known {
			entries = append(entries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: now})
		}
	}
	if len(entries) > MaxRevoked {
		return &api.Error{
			Problem: api.Busy, What: fmt.Sprintf("it would have more than the limit of %d entries", MaxRevoked), Subject: a.listPath(), Tried: "revoking certificates",
			Next: "make a new authority in another folder, and issue all certificates anew",
		}
	}
	text, err := a.encodeList(entries, new(big.Int).Add(list.Number, big.NewInt(1)), now)
	if err == nil {
		err = files.Rewrite(a.listPath(), 0o644, text)
	}
	if err != nil {
		return failed(a.listPath(), "revoking certificates", err)
	}
	return nil
}

// Revoked returns when certificates were revoked, by their serial numbers.
func (a *Authority) Revoked() (map[string]time.Time, error) {
	list, err := a.list()
	if err != nil {
		return nil, err
	}
	when := map[string]time.Time{}
	for _, e := range list.RevokedCertificateEntries {
		when[e.SerialNumber.Text(16)] = e.RevocationTime
	}
	return when, nil
}

func (a *Authority) listPath() string { return filepath.Join(a.dir, CRLFile) }

// list reads the list of revoked certificates.
func (a *Authority) list() (*x509.RevocationList, error) {
	text, err := readBounded(a.listPath(), maxList)
	if err != nil {
		return nil, unread(a.listPath(), err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != listBlock {
		return nil, damaged(a.listPath(), errors.New("it has no block "+listBlock))
	}
	list, err := x509.ParseRevocationList(block.Bytes)
	if err == nil {
		err = list.CheckSignatureFrom(a.cert)
	}
	if err == nil && list.Number == nil {
		err = errors.New("it has no number")
	}
	if err != nil {
		return nil, damaged(a.listPath(), err)
	}
	return list, nil
}

// encodeList signs a list. It is valid for as long as the authority: no process fetches a newer
// one in time, and a cluster must not stop because no certificate was revoked for a while.
func (a *Authority) encodeList(entries []x509.RevocationListEntry, number *big.Int, now time.Time) ([]byte, error) {
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		RevokedCertificateEntries: entries, Number: number, ThisUpdate: now.Add(-slack), NextUpdate: a.cert.NotAfter,
	}, a.cert, a.key)
	return pem.EncodeToMemory(&pem.Block{Type: listBlock, Bytes: der}), err
}

// Certificates returns the copies of all certificates that were issued, those of one subject
// next to each other, the newest first. A file in their folder that is no certificate is left out.
func (a *Authority) Certificates() ([]*x509.Certificate, error) {
	dir := filepath.Join(a.dir, issuedFolder)
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failed(dir, "listing the certificates", err)
	}
	var list []*x509.Certificate
	for _, n := range names {
		if c, err := ReadCertificate(filepath.Join(dir, n.Name())); err == nil {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(x, y *x509.Certificate) int {
		sx, _ := SubjectOf(x)
		sy, _ := SubjectOf(y)
		if d := strings.Compare(sx.String(), sy.String()); d != 0 {
			return d
		}
		return y.NotAfter.Compare(x.NotAfter)
	})
	return list, nil
}
