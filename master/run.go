package master

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/notice"
)

// errRan is the answer to a second Run.
var errRan = errors.New("the master was run or closed before; make a new one")

// Run serves until ctx is done and returns when everything it started is gone.
// The error is what ended it before. It may be called once.
func (m *Master) Run(ctx context.Context) error {
	if !m.claim() {
		return errRan
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all, owner sync.WaitGroup
	loopCtx, stopLoop := context.WithCancel(context.Background())
	defer stopLoop()
	owner.Go(func() { m.loop.Run(loopCtx) })
	var served error
	all.Go(func() {
		defer stop() // a daemon that cannot be reached must not look alive
		served = m.server.Run(ctx)
	})
	all.Go(func() { m.sweep(ctx) })
	for _, b := range m.owner.neighbours {
		all.Go(func() { m.greet(ctx, b) })
	}
	endNotices, err := m.listenToNotices()
	if err == nil {
		close(m.ready)
		<-ctx.Done()
	}
	stop()
	m.owner.board.takeDown()
	all.Wait()
	err = errors.Join(err, served, endNotices())
	stopLoop()
	owner.Wait()
	return errors.Join(err, m.release())
}

// Close frees what New opened when Run was never called. It is safe twice, and
// does nothing after Run.
func (m *Master) Close() error {
	if !m.claim() {
		return nil
	}
	return m.release()
}

// claim reports whether this is the first of Run and Close.
func (m *Master) claim() bool { return m.claimed.CompareAndSwap(false, true) }

// readiness returns why the master does not serve, nil when it does.
func (m *Master) readiness() error {
	select {
	case <-m.ready:
		return nil
	default:
		return errors.New("starting")
	}
}

// listenToNotices subscribes to the group's idle notices, and has the owner publish
// what waits; the function ends it.
func (m *Master) listenToNotices() (end func() error, err error) {
	if m.cfg.NATS == "" || m.owner.core == nil {
		return func() error { return nil }, nil
	}
	conn, err := notice.Connect(notice.Options{URL: m.cfg.NATS, Name: fmt.Sprintf("master-%d", m.cfg.Group), Log: m.log})
	if err != nil {
		return func() error { return nil }, err
	}
	waiting := notice.WaitingSubject(m.cfg.Cluster, m.cfg.Group)
	m.urge(func() {
		m.owner.crier.publish = func(data []byte) error { return conn.Publish(waiting, data) }
	})
	return conn.Close, conn.Subscribe(notice.IdleSubject(m.cfg.Cluster, m.cfg.Group), m.noticed)
}

// noticed takes one batch of idle notices.
func (m *Master) noticed(data []byte) {
	b, err := m.codec.Decode(data)
	if err == nil {
		err = b.CheckPeer()
	}
	if err == nil {
		err = m.loop.Post(func() { m.owner.take(b) })
	}
	if err != nil {
		m.owner.meter.garbled.Inc() // the node's next snapshot says the same
	}
}

// sweep looks for lost nodes.
func (m *Master) sweep(ctx context.Context) {
	tick := time.NewTicker(m.cfg.LostAfter / sweepsToLoss)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.urge(m.owner.sweep)
		case <-ctx.Done():
			return
		}
	}
}

// release closes what New opened; it is safe at any stage.
func (m *Master) release() (err error) {
	if m.server != nil {
		err = m.server.Close()
	}
	if m.web != nil {
		m.web.Stop()
	}
	if m.links != nil {
		err = errors.Join(err, m.links.Close())
	}
	if m.owner != nil {
		for _, b := range m.owner.neighbours {
			err = errors.Join(err, b.pool.Close())
		}
	}
	if m.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		err = errors.Join(err, m.tracing.Shutdown(ctx))
	}
	if m.recording != nil {
		err = errors.Join(err, m.recording())
	}
	return err
}
