package server

import (
	"crypto/tls"
	"net"

	"github.com/pigeon-sched/pigeon/internal/identity"
)

// Security is who calls a server and what callers may. With the zero value nobody is asked, and
// the context of a call has no principal.
type Security struct {
	// Identifier finds out who calls; nil: nobody is asked. *credentials.Credentials is one.
	Identifier Identifier
	// Allow returns why a principal may not call a method, nil when it may. It is asked
	// before the arguments are parsed; the caller receives an *api.Error as its text and
	// parts. nil: everybody may call everything.
	Allow func(p identity.Principal, method string) error
	// Decided is called with each call that has ended, what it was about (see [Concerns]), and
	// why it was refused, nil when it was not, for the audit log. It does not wait. nil: it is
	// not called.
	Decided func(p identity.Principal, from net.Addr, method, about string, refusal error)
}

// Identifier finds out who calls.
type Identifier interface {
	// Server returns the settings of TLS, nil for connections in clear.
	Server() *tls.Config
	// Identify returns who is at the other end of a connection, after the handshake. The
	// error is why what the caller offered as a proof is none; it answers every call.
	Identify(c net.Conn) (identity.Principal, error)
	// Authenticate returns whose access token it is.
	Authenticate(token string) (identity.Principal, error)
	// Valid returns why a principal identified earlier is none any more; it is asked before
	// every call.
	Valid(p identity.Principal) error
}
