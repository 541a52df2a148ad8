package servertest

import (
	"crypto/tls"
	"net"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// Principal is the one for which a server takes every caller: a server.Identifier for tests that are
// not about callers.
type Principal identity.Principal

var _ server.Identifier = Principal{}

// Anybody returns the security of a server at which every caller may do everything.
func Anybody() server.Security { return server.Security{Identifier: Principal(identity.Self())} }

// Server implements server.Identifier: there is no TLS.
func (Principal) Server() *tls.Config { return nil }

// Identify implements server.Identifier.
func (e Principal) Identify(net.Conn) (identity.Principal, error) {
	return identity.Principal(e), nil
}

// Authenticate implements server.Identifier: every token proves the same.
func (e Principal) Authenticate(string) (identity.Principal, error) {
	return identity.Principal(e), nil
}

// Valid implements server.Identifier.
func (Principal) Valid(identity.Principal) error { return nil }
