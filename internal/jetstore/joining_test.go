package jetstore_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// waits is a log that reports when the store waits for JetStream, and then has a second report when it waits
// no more.
type waits chan struct{}

func newWaits() waits { return make(waits, 2) }

func (w waits) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("JetStream is waited for")) || bytes.Contains(line, []byte("JetStream can be used")) {
		w <- struct{}{}
	}
	return len(line), nil
}

// A daemon that starts while the servers of its cluster still join waits for them.
func TestServersThatJoin(t *testing.T) {
	t.Parallel()
	c := natsservertest.StartSome(t, 3, 2)
	o, waiting := options(t, c.URL()), newWaits()
	o.Replicas, o.Log = 3, slog.New(slog.NewTextHandler(waiting, nil))
	opensWhen(t, o, waiting, func() { c.Start(2) })
}

// A server that stops has no JetStream any more before it closes its connections. A daemon that starts
// meanwhile waits for its return, or for another server.
func TestAServerThatStops(t *testing.T) {
	t.Parallel()
	plain := startPlain(t)
	o, waiting := options(t, plain.ClientURL()), newWaits()
	o.SyncAlways, o.Log = true, slog.New(slog.NewTextHandler(waiting, nil))
	if err := plain.GlobalAccount().DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	opensWhen(t, o, waiting, func() {
		if err := plain.GlobalAccount().EnableJetStream(nil, nil); err != nil {
			t.Error(err)
		}
	})
}

// A server whose disk is full has switched JetStream off. A daemon that reaches the cluster through it
// starts all the same: the two others have all that was kept before.
func TestAServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 3)
	const full = 1
	earlier := options(t, c.URL())
	earlier.Replicas = 3
	open(t, earlier)
	if err := c.Servers[full].Server().DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	o := options(t, c.Servers[full].URL())
	o.Replicas = 3
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := jetstore.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// opensWhen fails the test unless a store waits for JetStream and opens when it is mended.
func opensWhen(t *testing.T, o jetstore.Options, waiting waits, mend func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opened := make(chan error, 1)
	go func() {
		s, err := jetstore.Open(ctx, o)
		if err == nil {
			s.Close()
		}
		opened <- err
	}()
	select {
	case <-waiting:
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	}
	mend()
	if err := <-opened; err != nil {
		t.Error(err)
	}
	select {
	case <-waiting:
	default:
		t.Error("the log does not say that it waits no more")
	}
}

// While no server can be reached, the log and the error have the reason.
func TestWhyNoServerIsReached(t *testing.T) {
	t.Parallel()
	log := &daemontest.Text{}
	o := options(t, "nats://127.0.0.1:1")
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s, err := jetstore.Open(ctx, o)
	if err == nil {
		s.Close()
	}
	const why = "connection refused"
	if err == nil || !strings.Contains(err.Error(), why) || strings.Count(log.String(), "JetStream is waited for") != 1 || !strings.Contains(log.String(), why) {
		t.Errorf("the error is %v, the log\n%s", err, log)
	}
}
