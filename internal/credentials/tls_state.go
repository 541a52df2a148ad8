package credentials

import (
	"crypto/tls"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// IdentifyTLS is [Credentials.Identify] for a connection known only by its state of TLS,
// such as one to a NATS server. A caller without a certificate is unknown.
func (c *Credentials) IdentifyTLS(s tls.ConnectionState) (identity.Principal, error) {
	if c == nil || len(s.PeerCertificates) == 0 {
		return identity.Principal{}, nil
	}
	return c.ofCertificate(s.PeerCertificates)
}
