package nodemonitor

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Pauses after calls without an answer.
const (
	backoffFirst = 20 * time.Millisecond
	backoffMost  = 2 * time.Second
)

// backoff doubles with each failure, less up to half of it by chance, so that
// nodes that lost the same peer do not come back together.
func backoff(failures int) sched.Time {
	d := min(backoffFirst<<min(failures-1, 10), backoffMost)
	return sched.Time(d - rand.N(d/2+1)) //nolint:gosec // no secret
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
