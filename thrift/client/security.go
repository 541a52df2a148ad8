package client

import "crypto/tls"

// Security is how a pool verifies the peer, and proves the caller's identity. The zero value
// calls in clear and proves nothing beyond what the kernel reports about local callers.
type Security struct {
	// TLS is the settings of connections; nil: in clear. They verify the peer's certificate.
	TLS *tls.Config
	// Token returns the access token that proves the caller's identity, in the first call
	// of each connection; "" or nil: none. It is never sent in clear to another machine.
	Token func() (string, error)
	// Generation returns a number that changes when the certificates have; connections made
	// before are then dialled again before their next call. nil: they never do.
	Generation func() uint64
}
