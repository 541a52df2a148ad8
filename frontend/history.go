package frontend

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/pigeon-sched/pigeon/frontend/journal"
	"github.com/pigeon-sched/pigeon/frontend/usage"
	"github.com/pigeon-sched/pigeon/internal/access"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/identity"
)

// newHistory makes the keeper of what ended jobs used. It writes only after the journal has been
// read.
func (f *Frontend) newHistory() {
	f.history = usage.New(usage.Options{
		Path: filepath.Join(f.cfg.Data, "history"), Frontend: f.cfg.ID, Retention: f.cfg.HistoryRetention, Limit: f.cfg.HistoryLimit, Log: f.log,
		Refill: func(most int, add func(*api.JobUsage)) error {
			return f.service.journal.LastEnded(most, func(e *journal.Ended, _ time.Duration) { add(usage.Of(&e.Status, &e.Usage)) })
		},
	})
	if old := filepath.Join(f.cfg.Data, "history.db"); exists(old) {
		f.log.Warn("the history of jobs of an earlier version is not read", "file", old, "next", "it is an SQLite file: read it with sqlite3, and remove it when nobody needs it")
	}
	f.life.OnClose(f.history.Close)
	f.metrics.watchHistory(f.history.Stats)
}

// History returns jobs that ended, or sums over them: of all jobs, or of the caller's own.
func (srv *schedulerService) History(ctx context.Context, q api.HistoryQuery) (api.HistoryPage, error) {
	p := identity.From(ctx)
	if err := access.About(access.Allow(p, access.SeeJob), "the history of jobs", "reading it at frontend "+srv.cfg.ID); err != nil {
		return api.HistoryPage{}, err
	}
	var submitter *string
	if access.Of(p.Role, access.SeeJob) != access.All {
		submitter = &p.Name
	}
	return srv.history.History(ctx, q, submitter)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
