package lookup

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"slices"
	"time"
)

// timeout bounds what one comparison takes.
const timeout = time.Second

// Hosts returns the addresses of a host by its name, as [net.Resolver.LookupHost] does.
type Hosts func(ctx context.Context, host string) ([]string, error)

// WithPortOf returns those of the addresses that have the port of another one, sorted.
func WithPortOf(address string, all iter.Seq[string]) (list []string) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	for a := range all {
		if _, p, err := net.SplitHostPort(a); err == nil && p == port {
			list = append(list, a)
		}
	}
	slices.Sort(list)
	return list
}

// OnHostOf returns the first of the candidates, which are host:port, that is on the host of an address,
// by whatever names of that host; "" for none. It takes at most a second.
func (l Hosts) OnHostOf(ctx context.Context, address string, candidates []string) string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	host := func(address string) []netip.Addr {
		list, _ := l.addressesOf(ctx, address) // none that cannot be looked up is on a known host
		return list
	}
	named := host(address)
	for _, c := range candidates {
		if sameHost(named, host(c)) {
			return c
		}
	}
	return ""
}

// addressesOf returns the addresses of the host of an address, which is host:port.
func (l Hosts) addressesOf(ctx context.Context, address string) (list []netip.Addr, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	texts, err := l(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		if ip, err := netip.ParseAddr(text); err == nil {
			list = append(list, ip.Unmap())
		}
	}
	return list, nil
}

// sameHost reports whether both have an address in common, or both are this machine.
func sameHost(a, b []netip.Addr) bool {
	common := slices.ContainsFunc(a, func(ip netip.Addr) bool { return slices.Contains(b, ip) })
	return common || slices.ContainsFunc(a, isLocal) && slices.ContainsFunc(b, isLocal)
}

// isLocal reports whether an address is one of this machine.
func isLocal(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() {
		return true
	}
	mine, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(mine, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(n.IP)
		return ok && own.Unmap() == ip
	})
}
