package servertest

import (
	"crypto/tls"
	"net"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// Everybody takes every caller for one principal: a server.Identifier for tests that are not
// about who calls.
type Everybody identity.Principal

var _ server.Identifier = Everybody{}

// Anybody returns the security of a server at which every caller may do everything.
func Anybody() server.Security { return server.Security{Identifier: Everybody(identity.Self())} }

// Server implements server.Identifier: there is no TLS.
func (Everybody) Server() *tls.Config { return nil }

// Identify implements server.Identifier.
func (e Everybody) Identify(net.Conn) (identity.Principal, error) {
	return identity.Principal(e), nil
}

// Authenticate implements server.Identifier: every token proves the same.
func (e Everybody) Authenticate(string) (identity.Principal, error) {
	return identity.Principal(e), nil
}

// Valid implements server.Identifier.
func (Everybody) Valid(identity.Principal) error { return nil }
