package daemon

import (
	"crypto/tls"
	"fmt"
	"net"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// maxPublished bounds the entries of published_listen.
const maxPublished = 100

// PublishedListener is an entry of the setting published_listen: an address for clients of the
// published protocols, which cannot prove their identity, and the owner for which they work.
type PublishedListener struct {
	Address string `mapstructure:"address" json:"address" doc:"host:port; port 0 takes a free one"`
	Owner   string `mapstructure:"owner" json:"owner" doc:"path of the owner for whom all work of its callers runs"`
}

// PublishedSettings are the settings of daemons that serve the published protocols.
type PublishedSettings struct {
	PublishedListen []PublishedListener `mapstructure:"published_listen" common:"yes" doc:"addresses for programs of the published protocols, which cannot prove who they are: a list of entries with address and owner. Whoever reaches one is served the published methods only, and all its work is the owner's; a node's backends run the tasks of applications that came to the same owner's published_listen of a frontend. On listen itself the kernel says who calls from this machine"`
}

// PublishedFault returns what is wrong with published_listen, naming the entry; "" when nothing
// is.
func (s PublishedSettings) PublishedFault() string {
	list := s.PublishedListen
	if len(list) > maxPublished {
		return fmt.Sprintf("it has %d entries, more than the limit of %d", len(list), maxPublished)
	}
	for i, e := range list {
		switch err := api.CheckOwner(e.Owner); {
		case !IsAddress(e.Address):
			return fmt.Sprintf("entry %d has the address %q; give host:port", i+1, e.Address)
		case e.Owner == "":
			return fmt.Sprintf("entry %d (%s) names no owner; add owner: with a path such as team or team/alice", i+1, e.Address)
		case err != nil:
			return fmt.Sprintf("entry %d: %v", i+1, err)
		}
	}
	return ""
}

// ListenPublished opens the listeners of published_listen. Each serves the published methods
// of the services, and nothing else, to every caller that reaches it, as its owner. It
// returns their addresses in the order of the setting.
func (l *Lifecycle) ListenPublished(list []PublishedListener, p thrift.TProcessor, o server.Options, services ...string) (addresses []string, err error) {
	name := o.Name
	for _, e := range list {
		o.Name, o.Address = fmt.Sprintf("%s for the published clients of owner %q", name, e.Owner), e.Address
		o.Security = server.Security{Identifier: boundTo{e.Owner}, Allow: access.ForPublished(services...)}
		s, err := l.Listen(p, o)
		if err != nil {
			return addresses, err
		}
		l.log.Info("everybody who reaches this address is served the published methods for an owner", "address", s.Addr().String(), "owner", e.Owner)
		addresses = append(addresses, s.Addr().String())
	}
	return addresses, nil
}

// boundTo takes every caller for the owner to which a listener is bound.
type boundTo struct{ owner string }

var _ server.Identifier = boundTo{}

// Server implements server.Identifier: published clients do not speak TLS.
func (boundTo) Server() *tls.Config { return nil }

// Identify implements server.Identifier.
func (b boundTo) Identify(net.Conn) (identity.Principal, error) {
	return identity.Principal{Name: b.owner, Role: identity.User, Proof: identity.Listener, Owner: b.owner}, nil
}

// Authenticate implements server.Identifier.
func (b boundTo) Authenticate(string) (identity.Principal, error) {
	return identity.Principal{}, &api.Error{
		Problem: api.Denied, What: "it serves everybody as its owner and takes no tokens", Subject: fmt.Sprintf("listener of owner %q", b.owner),
		Tried: "proving who calls by a token", Next: "use the ordinary address of the daemon",
	}
}

// Valid implements server.Identifier.
func (boundTo) Valid(identity.Principal) error { return nil }
