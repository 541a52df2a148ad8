package jetstore_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/jetstore"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// Servers, or a stream, without space refuse writes, and the refusal says so.
func TestOutOfSpace(t *testing.T) {
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
			data := make([]byte, 512<<10)
			var err error
			for range 200 {
				if _, err = s.JetStream().Publish(t.Context(), "s", data); err != nil {
					break
				}
			}
			t.Log(err)
			e, ok := errors.AsType[*api.Error](s.Explain(err, "writing"))
			if !jetstore.OutOfSpace(err) || !ok || e.Problem != api.Busy || e.Next == "" {
				t.Errorf("%v is explained as %v", err, s.Explain(err, "writing"))
			}
		})
	}
}
