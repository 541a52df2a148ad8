package replay

import (
	"context"
	"time"

	"github.com/pigeon-sched/pigeon/internal/experiment"
	"github.com/pigeon-sched/pigeon/internal/workload"
	"github.com/pigeon-sched/pigeon/thrift/client"
)

// HistoryFile is the history of a frontend, whose host's clock is Ahead of the one here.
type HistoryFile struct {
	Path  string
	Ahead time.Duration
}

// Hosted is a cluster on hosts that runs for a replay.
type Hosted interface {
	Metered
	Frontends() []string
	Failed() <-chan error
	Security() (client.Security, error)
}

// OnHosts replays the workload on a cluster on hosts. histories is called after it, also when it was
// ended early, and returns the frontends' histories.
func OnHosts(ctx context.Context, run *experiment.Run, w *workload.Workload, c Hosted, progress func(Progress), histories func(context.Context) ([]HistoryFile, error)) (*Measured, error) {
	security, err := c.Security()
	if err != nil {
		return nil, err
	}
	m, err := Measure(ctx, c, w, func() (*Measured, error) {
		got, err := Run(ctx, w, Options{Frontends: c.Frontends(), Progress: progress, Failed: c.Failed(), Security: security})
		if err != nil {
			return nil, err
		}
		return &Measured{Replayed: *got}, nil
	})
	if err != nil {
		return nil, err
	}
	files, err := histories(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	if m.Events, err = joinHistories(files, m.Began); err != nil {
		return nil, err
	}
	Queueing(m.Outcome, w, m.Events)
	m.Outcome.Facts.Shares = run.UseOf(w, m.Events)
	return m, nil
}
