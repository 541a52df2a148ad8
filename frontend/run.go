package frontend

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// Run serves until ctx is done and returns when everything that it started has ended.
// The error is the failure that ended it earlier. It may be called once.
func (f *Frontend) Run(ctx context.Context) error {
	p := daemon.Parts{
		Connect: f.connectNotices,
		Owner: func(ctx context.Context) {
			f.loop.Run(ctx)
			f.saveLearned()
		},
		Tasks: []func(context.Context){
			// Neither is there before the journal was read, which a standby does late.
			func(ctx context.Context) { f.applications.Run(ctx) },
			func(ctx context.Context) { f.owner.dispatch.Run(ctx) },
			f.announce, f.saveClasses, f.renewKeys, f.quotas.Run, f.history.Run, f.watchNATS,
			func(ctx context.Context) { f.watched.run(ctx) },
			f.page.Watch,
		},
		Drain: func() { f.owner.dispatch.Leave() },
	}
	if f.standby != nil {
		p.Standby = func(ctx context.Context) error { return f.standby.run(ctx, f.resume) }
	}
	return f.life.Run(ctx, p)
}

// connectNotices subscribes to report notices and sets how acknowledgements are published.
func (f *Frontend) connectNotices() error {
	conn, err := f.life.Notices(f.cfg.Servers(), f.cfg.ID)
	if conn == nil || err != nil {
		return err
	}
	f.owner.acker.conn = conn
	return conn.SubscribeNamed(func(node string) string { return notice.ReportSubject(f.cfg.Cluster, f.cfg.ID, node) }, f.notice)
}
