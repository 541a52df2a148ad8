package wire

import (
	"context"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/identity"
	gen "github.com/pigeon-sched/pigeon/thrift/gen/identity"
)

// Authenticate is the method of IdentityService, which every server answers in addition to its own.
const Authenticate = "authenticate"

// Authenticator proves the identity of the caller.
type Authenticator interface {
	// Authenticate proves the caller's identity by an access token; "" changes nothing and
	// asks for the principal that the server sees.
	Authenticate(ctx context.Context, token string) (identity.Principal, error)
}

// IdentityProcessor serves IdentityService.
func IdentityProcessor(a Authenticator) thrift.TProcessor {
	return gen.NewIdentityServiceProcessor(identityHandler{a})
}

type identityHandler struct{ authenticator Authenticator }

func (h identityHandler) Authenticate(ctx context.Context, token string) (*gen.TPrincipal, error) {
	p, err := h.authenticator.Authenticate(ctx, token)
	if err != nil {
		return nil, refusal(err)
	}
	t := &gen.TPrincipal{Name: p.Name, Role: string(p.Role), Proof: string(p.Proof)}
	if !p.Expires.IsZero() {
		t.ExpiresSeconds = time.Until(p.Expires).Seconds()
	}
	return t, nil
}

// IdentityClient asks a server which principal it sees as its caller.
type IdentityClient struct{ caller Caller }

var _ Authenticator = (*IdentityClient)(nil)

// NewIdentityClient asks the server that the caller's connections lead to.
func NewIdentityClient(c Caller) *IdentityClient { return &IdentityClient{caller: c} }

// Authenticate implements [Authenticator] for the connection that the call is made on.
func (i *IdentityClient) Authenticate(ctx context.Context, token string) (identity.Principal, error) {
	t, err := invoke(ctx, i.caller, "proving who calls", func(ctx context.Context, c thrift.TClient) (*gen.TPrincipal, error) {
		return gen.NewIdentityServiceClient(c).Authenticate(ctx, token)
	})
	if err != nil {
		return identity.Principal{}, err
	}
	p := identity.Principal{Name: t.Name, Role: identity.Role(t.Role), Proof: identity.Proof(t.Proof)}
	if t.ExpiresSeconds != 0 {
		p.Expires = time.Now().Add(time.Duration(t.ExpiresSeconds * float64(time.Second)))
	}
	return p, nil
}
