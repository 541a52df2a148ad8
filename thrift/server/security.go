package server

import (
	"crypto/tls"
	"net"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Security is how a server identifies callers, and what they may do. With the zero value
// callers stay unknown, and the context of a call has no principal.
type Security struct {
	// Identifier identifies callers; nil: they stay unknown. *credentials.Credentials is one.
	Identifier Identifier
	// Allow returns why a principal may not call a method, nil when it may. It is called
	// before the arguments are parsed; the caller receives an *api.Error as its text and
	// parts. nil: every caller may call everything.
	Allow func(p identity.Principal, method string) error
	// Decided is called with each call that has ended, its object (see [Concerns]), and why it
	// was refused, nil when it was not, for the audit log. It does not wait. nil: it is not
	// called.
	Decided func(p identity.Principal, from net.Addr, method, about string, refusal error)
}

// Identifier identifies callers.
type Identifier interface {
	// Server returns the settings of TLS, nil for connections in clear.
	Server() *tls.Config
	// Identify returns the principal at the other end of a connection, after the handshake.
	// The error is why the caller's proof is not valid; it answers every call.
	Identify(c net.Conn) (identity.Principal, error)
	// Authenticate returns the principal that an access token proves.
	Authenticate(token string) (identity.Principal, error)
	// Valid returns why a principal identified earlier is not valid any more; it is
	// called before every call.
	Valid(p identity.Principal) error
}
