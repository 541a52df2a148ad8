package daemontest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/notice"
)

// patience bounds every wait. A test that waits that long has failed.
const patience = await.Limit

// Daemon is a daemon of any role.
type Daemon interface {
	Run(ctx context.Context) error
	Ready() <-chan struct{}
}

// Process is a running daemon.
type Process struct {
	t    testing.TB
	stop context.CancelFunc
	done chan struct{}
	err  error // set before done is closed
	once sync.Once
}

// Run runs a daemon until Stop, or the end of the test, and returns when it is
// ready. A daemon that ends before it is ready fails the test.
func Run(t testing.TB, d Daemon) *Process {
	t.Helper()
	p := Begin(t, d)
	select {
	case <-d.Ready():
	case <-p.done:
		t.Fatalf("the daemon ended before it was ready: %v", p.err)
	case <-time.After(patience):
		t.Fatal("the daemon is not ready")
	}
	return p
}

// Begin is Run for a daemon that may not become ready.
func Begin(t testing.TB, d Daemon) *Process {
	ctx, stop := context.WithCancel(context.Background())
	p := &Process{t: t, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = d.Run(ctx)
	}()
	t.Cleanup(p.Stop)
	return p
}

// Stop ends the daemon and returns when it has ended. An error of the daemon fails the
// test. It may be called twice.
func (p *Process) Stop() {
	p.t.Helper()
	p.once.Do(func() {
		p.stop()
		if err := p.wait(); err != nil {
			p.t.Errorf("the daemon did not end cleanly: %v", err)
		}
	})
}

// End waits for a daemon that ends by itself and returns its error.
func (p *Process) End() (err error) {
	p.t.Helper()
	p.once.Do(func() { err = p.wait() })
	return err
}

func (p *Process) wait() error {
	p.t.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		p.t.Fatal("the daemon did not end")
		return nil
	}
}

// Await polls until the condition holds, and fails the test when it does not in time.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	await.Until(t, what, holds)
}

// NATS starts a server for the test.
func NATS(t testing.TB) *notice.Embedded {
	t.Helper()
	e, err := notice.StartEmbedded("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() }) // safe twice; it has no error
	return e
}

// Log returns a logger that writes to the test's log; benchmarks have none.
func Log(t testing.TB) *slog.Logger {
	if _, ok := t.(*testing.B); ok {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}
