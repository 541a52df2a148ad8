package jetstore

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
)

const (
	faultsEvery  = 5 * time.Second // between two questions about the servers
	faultsWithin = 5 * time.Second // of one of them
)

// KnownFaults are the faults of servers as they were last heard of. The zero value knows of none. It is
// safe for concurrent use.
type KnownFaults struct{ last atomic.Pointer[[]string] }

// Watch asks for the faults until ctx ends. After an error the last answer stays. changed is called when
// faults begin, and with an empty list when there are none any more.
func (k *KnownFaults) Watch(ctx context.Context, ask func(context.Context) ([]string, error), changed func(found []string)) {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, faultsWithin)
		found, err := ask(asking)
		cancel()
		if err == nil {
			before := k.last.Swap(&found)
			if was := before != nil && len(*before) > 0; was != (len(found) > 0) {
				changed(found)
			}
		}
		delay.For(ctx, faultsEvery)
	}
}

// List returns the faults that are known.
func (k *KnownFaults) List() []string {
	if found := k.last.Load(); found != nil {
		return slices.Clone(*found)
	}
	return nil
}
