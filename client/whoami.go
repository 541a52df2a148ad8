package client

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// WhoAmI returns the principal as which the frontend sees this program.
func (f *Frontend) WhoAmI(ctx context.Context) (identity.Principal, error) {
	return wire.NewIdentityClient(f.pool).Authenticate(ctx, "")
}
