package results

import "github.com/pigeon-sched/pigeon/internal/sched"

// Reachable returns the name of a frontend and the address at which it was last reached,
// "" for none.
func (r *Reporter) Reachable(a sched.Addr) (name, address string) {
	if f := r.frontend(a); f != nil {
		name, address = f.ref.Name, f.address
	}
	return name, address
}

// Renew sends all kept results of a frontend once more, and at once: another process of it
// has begun, which may have missed them.
func (r *Reporter) Renew(a sched.Addr) {
	f := r.frontend(a)
	if f == nil {
		return
	}
	f.failures, f.notBefore, f.heardAt = 0, 0, r.cfg.Now()
	r.renew(f)
	if f.fresh.n > 0 {
		r.markDirty(f)
	}
}

// renew marks all results of a frontend to be sent again.
func (r *Reporter) renew(f *frontend) {
	for f.sent.n > 0 {
		r.store.move(f.sent.first, &f.fresh)
	}
}

// Forget drops results that their frontend does not want, and returns how many there were.
func (r *Reporter) Forget(frontend sched.Addr, ids []sched.AttemptID) (forgotten int) {
	for _, id := range ids {
		if place, kept := r.store.index[id]; kept && r.store.table[place].distributor.addr == frontend && r.store.drop(id) {
			forgotten++
		}
	}
	r.cfg.Metrics.dropped.Add(float64(forgotten))
	return forgotten
}
