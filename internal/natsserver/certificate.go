package natsserver

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
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
	pair, loadErr := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil && loadErr == nil {
		c.pair, c.changed = &pair, info.ModTime()
		return c.pair, nil
	}
	if c.pair != nil {
		return c.pair, nil
	}
	return nil, loadErr
}

// forRoutes implements tls.Config.GetClientCertificate: other servers of the cluster see the same
// one.
func (c *certificate) forRoutes(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return c.get(nil)
}
