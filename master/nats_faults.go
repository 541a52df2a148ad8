package master

import (
	"context"
	"errors"

	"github.com/pigeon-sched/pigeon/internal/leadership"
)

var errNotLeading = errors.New("a standby does not ask")

// watchNATS keeps what the status shows of the NATS servers that keep the leaderships, while this
// master leads. A store that cannot tell, as those of tests, is not asked.
func (m *Master) watchNATS(ctx context.Context, store leadership.Store) {
	teller, tells := store.(interface {
		Faults(ctx context.Context) ([]string, error)
	})
	if !tells {
		return
	}
	m.natsFaults.Watch(ctx, func(ctx context.Context) ([]string, error) {
		if !m.standing.leads() {
			return nil, errNotLeading
		}
		return teller.Faults(ctx) // when it fails, renewals fail as well, which is logged
	}, func(found []string) {
		if len(found) > 0 {
			m.log.Warn("the NATS servers do not all keep the leaderships; with a majority of them lost no process leads", "faults", found)
		} else {
			m.log.Info("all NATS servers keep the leaderships again")
		}
	})
}
