package credentials

import (
	"context"
	"crypto/x509"
	"os"
	"time"
)

// Days before its end at which a certificate is warned of, once a day.
const (
	warnBefore = 10 * 24 * time.Hour
	warnEvery  = 24 * time.Hour
)

// stamp is what shows that a file has changed; the zero value is that of a missing
// file.
type stamp struct {
	modified time.Time
	size     int64
}

type stamps [4]stamp

// stamps looks at the files.
func (c *Credentials) stamps() (all stamps) {
	for i, file := range []string{c.opts.CA, c.opts.Cert, c.opts.Key, c.opts.CRL} {
		if file == "" {
			continue
		}
		if info, err := os.Stat(file); err == nil {
			all[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return all
}

// Watch reads the files again whenever they have changed, until ctx is done. Files that cannot be used
// are read again at each look: what makes them usable need not change a size or a time, such as a
// permission.
func (c *Credentials) Watch(ctx context.Context) {
	if c.opts.CA == "" {
		return
	}
	tick := time.NewTicker(c.opts.Poll)
	defer tick.Stop()
	seen := c.state.Load().seen
	var warned time.Time
	var failure string // of the last reading
	for {
		if now := c.now(); now.Sub(warned) >= warnEvery && c.warn(now) {
			warned = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := c.stamps()
		if now == seen && failure == "" {
			continue
		}
		err := c.Reload()
		switch {
		case err == nil:
			failure = ""
			if c.opts.Changed != nil {
				c.opts.Changed()
			}
		case now != seen || err.Error() != failure:
			failure = err.Error()
			c.opts.Log.Error("the changed certificates cannot be used; the earlier ones stay, and the files are read again every few seconds", "error", err)
		}
		seen = now
	}
}

// Reload reads the files now. When they cannot be used, those read before stay in force.
func (c *Credentials) Reload() error {
	s, err := c.load()
	if err != nil {
		c.failed.Add(1)
		return err
	}
	c.state.Store(s)
	c.generation.Add(1)
	c.opts.Log.Info("certificates were read again", "self", s.self.String(), "until", s.ends(), "revoked", len(s.revoked))
	return nil
}

// warn logs a certificate that ends soon, and reports whether one does.
func (c *Credentials) warn(now time.Time) (warned bool) {
	s := c.state.Load()
	soon := func(cert *x509.Certificate) bool { return cert.NotAfter.Sub(now) <= warnBefore }
	own := s.own != nil && soon(s.own.Leaf)
	for _, a := range s.authorities {
		if !soon(a) {
			continue
		}
		c.opts.Log.Warn("an authority ends soon, and so does every certificate that it has signed", "ends", a.NotAfter, "authority", a.Subject.String(), "file", c.opts.CA)
		warned = true
		// The certificate ends only because its authority does, and cannot be renewed.
		own = own && (s.own.Leaf.NotAfter.Before(a.NotAfter) || s.own.Leaf.CheckSignatureFrom(a) != nil)
	}
	if own {
		c.opts.Log.Warn("a certificate ends soon, and nobody can call this daemon then, nor can it call others; renew it: pigeon pki renew", "ends", s.own.Leaf.NotAfter, "file", c.opts.Cert)
		warned = true
	}
	return warned
}

// DaysLeft returns for how many days this process's certificate and those of the
// authorities are valid, below zero when one has ended; 0 without TLS.
func (c *Credentials) DaysLeft() float64 {
	if c == nil {
		return 0
	}
	ends := c.state.Load().ends()
	if ends.IsZero() {
		return 0
	}
	return ends.Sub(c.now()).Hours() / 24
}

// Failed counts the times that changed files could not be used. It grows until they can be.
func (c *Credentials) Failed() uint64 {
	if c == nil {
		return 0
	}
	return c.failed.Load()
}
