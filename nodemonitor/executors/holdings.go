package executors

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// maxWait bounds a wait for holdings.
const maxWait = time.Minute

// Holdings returns what is held here as soon as it differs from the version named, or
// when the wait is over. It renews the leases of the applications of that frontend,
// also at its end: a frontend that waits is alive.
func (k *Keeper) Holdings(ctx context.Context, frontend string, incarnation, version int64, wait time.Duration) (wire.Holdings, error) {
	timer := time.NewTimer(min(max(wait, 0), maxWait, k.cfg.Lease/3))
	defer timer.Stop()
	for over := false; ; {
		h, wake := k.poll(frontend)
		if over || wake == nil || incarnation != h.Incarnation || version != h.Version {
			return h, nil
		}
		select {
		case <-wake:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			return wire.Holdings{}, ctx.Err()
		}
	}
}

// poll renews the leases of a frontend's applications and returns what is held, and the
// channel that is closed at the next change; nil when the keeper is closed.
func (k *Keeper) poll(frontend string) (wire.Holdings, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renew(frontend)
	if k.closed {
		return k.held(), nil
	}
	return k.held(), k.wake
}

// renew renews the leases of a frontend's applications. It needs the lock.
func (k *Keeper) renew(frontend string) {
	now := time.Now()
	for _, a := range k.apps {
		if a.frontend == frontend {
			a.lastContact = now
		}
	}
}

// Held returns what is held here.
func (k *Keeper) Held() wire.Holdings {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held()
}

// held returns what is held here. It needs the lock.
func (k *Keeper) held() wire.Holdings {
	h := wire.Holdings{Incarnation: k.cfg.Incarnation, Version: k.version, Memory: k.cfg.Memory}
	for _, a := range k.apps {
		h.Used += a.memory()
		v := wire.HeldApplication{
			ID: a.ID, Incarnation: a.Incarnation, Frontend: a.frontend, Tenure: a.tenure, Sequence: a.sequence, Last: a.last,
			Executors: slices.Clone(a.ended),
		}
		for _, id := range slices.Sorted(maps.Keys(a.executors)) {
			v.Executors = append(v.Executors, k.heldExecutor(a.executors[id]))
		}
		h.Applications = append(h.Applications, v)
	}
	slices.SortFunc(h.Applications, func(a, b wire.HeldApplication) int { return strings.Compare(a.ID, b.ID) })
	return h
}

// heldExecutor returns one executor. It needs the lock.
func (k *Keeper) heldExecutor(x *executor) wire.HeldExecutor {
	h := wire.HeldExecutor{State: x.state, Slots: x.slots, Ran: time.Since(x.began)}
	if x.app.Grants {
		h.Attached, _ = k.cfg.Table.Attached(x.app.ID, x.id)
	} else {
		h.Held = k.cfg.Holds.Holding(x.app.ID, x.id)
	}
	return h
}
