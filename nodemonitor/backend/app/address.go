package app

import (
	"cmp"
	"context"
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
	host, port, err := net.SplitHostPort(worker)
	if err != nil {
		return worker
	}
	known, candidates := r.withPort(worker, port)
	if known != "" || len(candidates) == 0 {
		return cmp.Or(known, worker)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	mine := r.addressesOf(ctx, host)
	for _, address := range candidates {
		other, _, _ := net.SplitHostPort(address) // it has the same port
		if sameHost(mine, r.addressesOf(ctx, other)) {
			r.alias(worker, address)
			return address
		}
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
// ones with that port.
func (r *Registry) withPort(worker, port string) (known string, candidates []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[worker] != nil {
		return worker, nil
	}
	if a := r.aliases[worker]; r.known[a] != nil {
		return a, nil
	}
	for address := range r.known { // at most one can be right
		if _, p, err := net.SplitHostPort(address); err == nil && p == port {
			candidates = append(candidates, address)
		}
	}
	slices.Sort(candidates)
	return "", candidates
}

// addressesOf returns the addresses of a host; none when it cannot be looked up.
func (r *Registry) addressesOf(ctx context.Context, host string) (list []net.IP) {
	if ip := net.ParseIP(host); ip != nil {
		return []net.IP{ip}
	}
	texts, err := r.cfg.Lookup(ctx, host)
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
