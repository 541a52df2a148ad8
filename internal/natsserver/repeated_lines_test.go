package natsserver_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// A client that is refused, and one that does not trust the server, try again and again: the log has a line
// or two about each, not one for each attempt.
func TestRefusedClientsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	a, other, log := newAuthority(t), newAuthority(t), &daemontest.Text{}
	c := natsservertest.Start(t, 1, func(o *natsserver.Options) {
		o.Cluster, o.CA, o.Log = "c", a.file, slog.New(slog.NewTextHandler(log, nil))
		o.Cert, o.Key = a.issue("pigeon://c/nats/n1")
	})
	person, stranger := a.access(c.URL(), "pigeon://c/viewer/eve"), a.access(c.URL(), "pigeon://c/node/n1")
	stranger.CA = other.file
	const attempts = 20
	for range attempts {
		for _, access := range []struct {
			url     string
			options []nats.Option
		}{{person.URL, person.NATSOptions()}, {stranger.URL, stranger.NATSOptions()}} {
			if nc, err := nats.Connect(access.url, append(access.options, nats.NoReconnect())...); err == nil {
				nc.Close()
				t.Fatal("it was admitted")
			}
		}
	}
	for _, line := range []string{"a client was refused", "authentication error", "TLS handshake error"} {
		if n := strings.Count(log.String(), line); n < 1 || n > 2 {
			t.Errorf("%d lines of %q for %d attempts, want one or two:\n%s", n, line, attempts, log)
		}
	}
}
