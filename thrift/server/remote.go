package server

import (
	"context"
	"net"
)

type remoteKey struct{}

// WithRemote returns a context with the address of the caller; the server makes one for
// every connection, tests of handlers make their own.
func WithRemote(ctx context.Context, addr net.Addr) context.Context {
	return context.WithValue(ctx, remoteKey{}, addr)
}

// Remote returns the address of the caller, nil outside a call.
func Remote(ctx context.Context) net.Addr {
	addr, _ := ctx.Value(remoteKey{}).(net.Addr)
	return addr
}
