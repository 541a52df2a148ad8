package master

import (
	"context"
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/leadership"
)

const (
	natsEvery  = 5 * time.Second // between two questions about the servers that keep the leaderships
	natsWithin = 5 * time.Second // of one of them
)

// watchNATS keeps what the status shows of the NATS servers that keep the leaderships, while this
// master leads. A store that cannot tell, as those of tests, is not asked.
func (m *Master) watchNATS(ctx context.Context, store leadership.Store) {
	teller, tells := store.(interface {
		Faults(ctx context.Context) ([]string, error)
	})
	for tells && ctx.Err() == nil {
		if m.standing.leads() {
			asking, cancel := context.WithTimeout(ctx, natsWithin)
			found, err := teller.Faults(asking)
			cancel()
			if err == nil { // else renewals fail as well, which is logged
				m.noteNATS(found)
			}
		}
		delay.For(ctx, natsEvery)
	}
}

// noteNATS records what is wrong with the servers. Only the beginning and the end are logged.
func (m *Master) noteNATS(found []string) {
	before := m.natsFaults.Swap(&found)
	switch was := before != nil && len(*before) > 0; {
	case len(found) > 0 && !was:
		m.log.Warn("the NATS servers do not all keep the leaderships; with a majority of them lost no process leads", "faults", found)
	case len(found) == 0 && was:
		m.log.Info("all NATS servers keep the leaderships again")
	}
}

// faultsOfNATS returns what is wrong with the servers, as far as this master knows.
func (m *Master) faultsOfNATS() []string {
	if found := m.natsFaults.Load(); found != nil {
		return slices.Clone(*found)
	}
	return nil
}
