package frontend

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// errRan is the answer to a second Run.
var errRan = errors.New("the frontend was run or closed before; make a new one")

// Run serves until ctx is done and returns when everything it started is gone.
// The error is what ended it before. It may be called once.
func (f *Frontend) Run(ctx context.Context) error {
	if !f.claim() {
		return errRan
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	unsubscribe, err := f.connectNotices()
	if err != nil {
		return errors.Join(err, f.release())
	}
	loopCtx, stopLoop := context.WithCancel(context.Background())
	defer stopLoop()
	var owner, all sync.WaitGroup
	owner.Go(func() { f.loop.Run(loopCtx) })
	for _, m := range f.masters {
		all.Go(func() { f.greet(ctx, m) })
	}
	all.Go(func() { f.applications.Run(ctx) })
	if f.owner.plan.rolled() {
		all.Go(func() { f.follow(ctx, f.masters[0]) })
	}
	for _, s := range []*server.Server{f.scheduler, f.internal} {
		all.Go(func() {
			if err := s.Run(ctx); err != nil {
				f.fail(err)
			}
		})
	}
	settle := time.AfterFunc(settleAfter, func() { _ = f.urge(f.owner.settle) })
	defer settle.Stop()
	select {
	case <-ctx.Done():
	case err = <-f.failed:
		f.log.Error("the frontend ends", "error", err)
	}
	stop()
	close(f.stopping)
	all.Wait()
	err = errors.Join(err, unsubscribe())
	stopLoop()
	owner.Wait()
	f.owner.endSpans()
	return errors.Join(err, f.release())
}

// Close frees what New opened when Run was never called. It is safe twice, and
// does nothing after Run.
func (f *Frontend) Close() error {
	if !f.claim() {
		return nil
	}
	return f.release()
}

// claim reports whether this is the first of Run and Close.
func (f *Frontend) claim() bool { return f.claimed.CompareAndSwap(false, true) }

// connectNotices subscribes to reports and publishes acknowledgements; the
// function ends both.
func (f *Frontend) connectNotices() (end func() error, err error) {
	if f.cfg.NATS == "" {
		return func() error { return nil }, nil
	}
	conn, err := notice.Connect(notice.Options{URL: f.cfg.NATS, Name: f.cfg.ID, Log: f.log})
	if err != nil {
		return nil, err
	}
	f.owner.acker.publish = conn.Publish
	f.owner.acker.subject = func(node string) string { return notice.AckSubject(f.cfg.Cluster, node) }
	if err := conn.Subscribe(notice.ReportSubject(f.cfg.Cluster, f.cfg.ID), f.notice); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn.Close, nil
}

// release closes what New opened; it is safe at any stage.
func (f *Frontend) release() (err error) {
	for _, s := range []*server.Server{f.scheduler, f.internal} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if f.web != nil {
		f.web.Stop()
	}
	for _, m := range f.masters {
		if m.out != nil {
			err = errors.Join(err, m.out.Close())
		}
	}
	if f.owner != nil && f.owner.peers.links != nil {
		err = errors.Join(err, f.owner.peers.links.Close())
	}
	for _, p := range f.pools {
		err = errors.Join(err, p.Close())
	}
	if f.relay != nil {
		f.relay.close()
	}
	if f.journal != nil {
		err = errors.Join(err, f.journal.Close())
	}
	if f.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		err = errors.Join(err, f.tracing.Shutdown(ctx))
	}
	if f.recording != nil {
		err = errors.Join(err, f.recording())
	}
	if f.owner != nil && f.owner.history != nil {
		err = errors.Join(err, f.owner.history.close())
	}
	return err
}
