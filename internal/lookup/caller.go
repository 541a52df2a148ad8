package lookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// CheckNamed returns why the caller of a call may not have this daemon connect to an address, host:port, that it
// names as its own; nil when it may. A caller on another host may name no address of this one, because the daemon
// would connect for it to what serves this host only. A superuser could do that in any case. It takes at most a
// second.
func (l Hosts) CheckNamed(ctx context.Context, address string) error {
	caller, ok := server.Remote(ctx).(*net.TCPAddr)
	if !ok || identity.From(ctx).Role == identity.Superuser || isLocal(caller.AddrPort().Addr()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	refusal := &api.Error{
		Problem: api.Denied, Subject: "address " + address, Tried: fmt.Sprintf("registering it for a caller at %s", caller.IP),
		Next: "give the address at which this host reaches the program: one of the host on which it runs, not loopback",
	}
	hosts, err := l.addressesOf(ctx, address)
	if err == nil && len(hosts) == 0 {
		err = errors.New("it has no addresses")
	}
	if err != nil {
		refusal.Problem, refusal.What = api.NotReady, fmt.Sprintf("its host cannot be looked up here: %v", err)
		return refusal
	}
	if own := slices.IndexFunc(hosts, isOwn); own >= 0 {
		refusal.What = fmt.Sprintf("the caller is on another host, and from here %s leads to no other host", hosts[own])
		return refusal
	}
	return nil
}

// isOwn reports whether a connection to an address may end on this machine, or on one that only this
// machine's links reach.
func isOwn(ip netip.Addr) bool {
	return ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || isLocal(ip)
}
