package app

import (
	"cmp"
	"context"
	"maps"

	"github.com/pigeon-sched/pigeon/internal/lookup"
)

const maxAliases = 4096

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
	return "", lookup.WithPortOf(worker, maps.Keys(r.known)) // at most one can be right
}
