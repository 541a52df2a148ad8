package staging

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/filestore"
)

const (
	// unused is how long a file is kept that no job holds: a submission follows its files.
	unused = 10 * time.Minute
	// sweepEvery is how often files that were unused for that long are looked for.
	sweepEvery = 30 * time.Second
)

// sweep removes files that are not used, until Close.
func (k *Keeper) sweep() {
	defer close(k.gone)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
			k.Sweep()
		}
	}
}

// Sweep removes the files that no job holds and nobody has used for ten minutes.
func (k *Keeper) Sweep() {
	var over []*filestore.Incoming
	k.mu.Lock()
	now := k.cfg.Now()
	for p, f := range k.known {
		if f.jobs == 0 && now.Sub(f.used) >= unused {
			over = append(over, f.incoming)
			k.remove(p)
		}
	}
	k.mu.Unlock()
	for _, in := range over {
		k.drop(in)
	}
	used := func(sha string) bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.uses[sha] > 0
	}
	if err := k.store.Retain(used); err != nil {
		k.cfg.Log.Warn("staged files that no job needs could not be removed; remove them by hand", "error", err)
	}
	if k.cfg.Replica == nil {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, retainTime)
	defer cancel()
	if err := k.cfg.Replica.Retain(ctx, used); err != nil && k.ctx.Err() == nil {
		k.cfg.Log.Warn("staged files that no job needs could not be removed from the NATS servers; that is tried again", "error", err)
	}
}
