package jetstore_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// waits is a log that reports when the store waits for JetStream.
type waits chan struct{}

func (w waits) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("JetStream is waited for")) {
		close(w)
	}
	return len(line), nil
}

// A daemon that starts while the servers of its cluster still join waits for them.
func TestServersThatJoin(t *testing.T) {
	t.Parallel()
	c := natsservertest.StartSome(t, 3, 2)
	o, waiting := options(t, c.URL()), make(waits)
	o.Replicas, o.Log = 3, slog.New(slog.NewTextHandler(waiting, nil))
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
	c.Start(2)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
