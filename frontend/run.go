package frontend

import (
	"context"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// Run serves until ctx is done and returns when everything that it started has ended.
// The error is the failure that ended it earlier. It may be called once.
func (f *Frontend) Run(ctx context.Context) error {
	return f.life.Run(ctx, daemon.Parts{
		Connect: f.connectNotices,
		Owner: func(ctx context.Context) {
			f.loop.Run(ctx)
			f.owner.jobs.EndTraces()
			f.classes.save(f.classes.unsaved())
		},
		Tasks: []func(context.Context){f.applications.Run, f.owner.dispatch.Run, f.announce, f.saveClasses, f.quotas.Run},
		Drain: f.owner.dispatch.Leave,
	})
}

// connectNotices subscribes to report notices and sets how acknowledgements are published.
func (f *Frontend) connectNotices() error {
	conn, err := f.life.Notices(f.cfg.Servers(), f.cfg.ID)
	if conn == nil || err != nil {
		return err
	}
	f.owner.acker.publish = conn.Publish
	f.owner.acker.subject = func(node string) string { return notice.AckSubject(f.cfg.Cluster, node) }
	return conn.Subscribe(notice.ReportSubject(f.cfg.Cluster, f.cfg.ID), f.notice)
}
