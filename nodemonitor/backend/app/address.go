package app

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"net"
	"slices"
	"time"
)

const (
	lookupTimeout = time.Second
	maxAliases    = 4096
)

// registeredAs returns the address under which a backend is registered that reports under
// another spelling: its name in place of an address of its host, or the reverse. It returns
// the worker itself when there is none.
func (r *Registry) registeredAs(ctx context.Context, worker string) string {
	known, candidates := r.withPort(worker)
	if known != "" || len(candidates) == 0 {
		return cmp.Or(known, worker)
	}
	if address := r.cfg.Lookup.OnHostOf(ctx, worker, candidates); address != "" {
		r.alias(worker, address)
		return address
	}
	return worker
}

// alias records the registered address of a worker that named itself differently.
func (r *Registry) alias(worker, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.aliases) >= maxAliases {
		clear(r.aliases)
	}
	r.aliases[worker] = address
}

// withPort returns the registered address of a worker if it is known, else the registered
// ones with its port.
func (r *Registry) withPort(worker string) (known string, candidates []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[worker] != nil {
		return worker, nil
	}
	if a := r.aliases[worker]; r.known[a] != nil {
		return a, nil
	}
	return "", WithPortOf(worker, maps.Keys(r.known)) // at most one can be right
}

// Lookup returns the addresses of a host by its name, as [net.Resolver.LookupHost] does.
type Lookup func(ctx context.Context, host string) ([]string, error)

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
func (l Lookup) OnHostOf(ctx context.Context, address string, candidates []string) string {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	host := func(address string) []net.IP {
		h, _, _ := net.SplitHostPort(address) // none that is not host:port is a candidate, or has one
		return l.addressesOf(ctx, h)
	}
	named := host(address)
	for _, c := range candidates {
		if sameHost(named, host(c)) {
			return c
		}
	}
	return ""
}

// addressesOf returns the addresses of a host; none when it cannot be looked up.
func (l Lookup) addressesOf(ctx context.Context, host string) (list []net.IP) {
	if ip := net.ParseIP(host); ip != nil {
		return []net.IP{ip}
	}
	texts, err := l(ctx, host)
	if err != nil {
		return nil
	}
	for _, text := range texts {
		if ip := net.ParseIP(text); ip != nil {
			list = append(list, ip)
		}
	}
	return list
}

// sameHost reports whether both have an address in common, or both are this machine.
func sameHost(a, b []net.IP) bool {
	common := slices.ContainsFunc(a, func(ip net.IP) bool { return slices.ContainsFunc(b, ip.Equal) })
	return common || slices.ContainsFunc(a, isLocal) && slices.ContainsFunc(b, isLocal)
}

// isLocal reports whether an address is one of this machine.
func isLocal(ip net.IP) bool {
	if ip.IsLoopback() {
		return true
	}
	mine, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(mine, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}
