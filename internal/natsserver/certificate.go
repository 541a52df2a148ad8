package natsserver

import (
	"context"
	"crypto/tls"
	"os"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/authority"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/files"
)

// certificate is the certificate of this server, which is read again when its file has changed.
type certificate struct {
	cert, key string // files

	mu      sync.Mutex
	changed time.Time // of the file, when it was read
	pair    *tls.Certificate
}

// get implements tls.Config.GetCertificate. A file that cannot be used leaves the former
// certificate in place.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.pair != nil && info.ModTime().Equal(c.changed) {
		return c.pair, nil
	}
	var pair tls.Certificate
	loadErr := files.CheckSecret(c.key, "the key of the server's certificate")
	if loadErr == nil {
		pair, loadErr = tls.LoadX509KeyPair(c.cert, c.key)
	}
	if err == nil && loadErr == nil {
		c.pair, c.changed = &pair, info.ModTime()
		return c.pair, nil
	}
	if c.pair != nil {
		return c.pair, nil
	}
	return nil, loadErr
}

// warnBefore is how long before its end a server warns of its certificate, once a day.
const warnBefore = 10 * 24 * time.Hour

// watchCertificate warns of a certificate that ends soon or cannot be read, until the function that it
// returns is called: a server that shows one that has ended is reached by nobody.
func (o Options) watchCertificate() (end func()) {
	if o.Cert == "" || o.Log == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for again := true; again; again = delay.For(ctx, 24*time.Hour) {
			c, err := authority.ReadCertificate(o.Cert)
			switch {
			case err != nil:
				o.Log.Warn("the certificate of the server cannot be read; the one that was read before is shown", "error", err)
			case authority.EndsWithin(c, warnBefore, time.Now()):
				o.Log.Warn("the certificate of the server ends soon, and no daemon can connect then; renew it: pigeon pki renew", "ends", c.NotAfter, "file", o.Cert)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// forRoutes implements tls.Config.GetClientCertificate: other servers of the cluster see the same
// one.
func (c *certificate) forRoutes(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return c.get(nil)
}
