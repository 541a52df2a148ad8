package frontend

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// rollWait is how long a master keeps a question about its roll while nothing
// changes.
const rollWait = 5 * time.Second

// rollPause is the least time between two questions that brought nothing new.
const rollPause = 100 * time.Millisecond

// follow keeps what the owner knows of nodes and other frontends by the master's
// roll, for as long as the daemon runs. Each answer is taken in before the next
// question, so that many changes come as one.
func (f *Frontend) follow(ctx context.Context, m *master) {
	var last wire.Membership
	for ctx.Err() == nil {
		asked := time.Now()
		roll, err := askRoll(ctx, m.peer, last)
		switch news := err == nil && (roll.Incarnation != last.Incarnation || roll.Version != last.Version); {
		case news:
			last = roll
			f.enroll(ctx, roll)
			continue
		case err != nil:
			f.log.Debug("the master did not tell its roll", "address", m.address, "error", err)
		case time.Since(asked) >= rollWait/2:
			continue // nothing has changed, and it took its time to say so
		}
		f.rest(ctx)
	}
}

func askRoll(ctx context.Context, keeper *wire.PeerClient, last wire.Membership) (wire.Membership, error) {
	ctx, cancel := context.WithTimeout(ctx, rollWait+helloEvery)
	defer cancel()
	return keeper.Membership(ctx, last.Incarnation, last.Version, rollWait)
}

// enroll has the owner take a roll in, and waits until it has.
func (f *Frontend) enroll(ctx context.Context, roll wire.Membership) {
	done := make(chan struct{})
	if err := f.urge(func() { f.owner.enroll(roll); close(done) }); err != nil {
		return // the daemon is stopping
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// rest waits a moment before the next question, or until a stranger has called.
func (f *Frontend) rest(ctx context.Context) {
	timer := time.NewTimer(rollPause + rand.N(rollPause)) //nolint:gosec // jitter, not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.hurry:
	case <-ctx.Done():
	}
}
