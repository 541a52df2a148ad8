package jetstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// Servers, or a stream, without space refuse writes, and the refusal gives that reason.
func TestOutOfSpace(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		servers  int
		maxStore int64
		stream   int64
	}{
		"one server":    {1, 16 << 20, -1},
		"three servers": {3, 16 << 20, -1},
		"a stream":      {1, 64 << 20, 1 << 20},
	} {
		t.Run(what, func(t *testing.T) {
			servers := natsservertest.Start(t, c.servers, func(o *natsserver.Options) { o.MaxStore = c.maxStore })
			o := options(t, servers.URL())
			o.Replicas = c.servers
			s := open(t, o)
			if _, err := s.Stream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}, MaxBytes: c.stream, Discard: jetstream.DiscardNew}); err != nil {
				t.Fatal(err)
			}
			err := fill(t, s)
			e, ok := errors.AsType[*api.Error](s.Explain(err, "writing"))
			if !jetstore.OutOfSpace(err) || !ok || e.Problem != api.Busy || e.Next == "" {
				t.Errorf("%v is explained as %v", err, s.Explain(err, "writing"))
			}
		})
	}
}

// fill publishes until JetStream refuses, and returns the refusal. A publish that is not
// answered in time, on a slow disk or while the servers elect a leader, is sent again.
func fill(t *testing.T, s *jetstore.Store) error {
	t.Helper()
	late := time.Now().Add(time.Minute)
	data := make([]byte, 512<<10)
	for range 200 {
		_, err := s.JetStream().Publish(t.Context(), "s", data)
		if err == nil || errors.Is(err, context.DeadlineExceeded) && time.Now().Before(late) {
			continue
		}
		t.Log(err)
		return err
	}
	return nil
}
