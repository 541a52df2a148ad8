package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// On three servers a journal continues without any one of them, whichever it is connected to and
// whichever leads the stream; it waits while two are away and continues when one comes back.
// Nothing that was acknowledged is lost, and nothing is applied twice.
func TestServersAreLost(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 3, func(o *natsserver.Options) { o.MaxStore = 256 << 20 })
	nc, err := nats.Connect(c.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.PingInterval(200*time.Millisecond), nats.MaxPingsOutstanding(2))
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	o := options(t, js)
	o.Replicas, o.MaxBytes, o.SnapshotMessages = 3, 32<<20, 40
	a := lead(t, o)
	want := map[string]string{}
	n := 0
	write := func(count int) {
		t.Helper()
		for range count {
			n++
			k := fmt.Sprint(n % 50)
			want[k] = strings.Repeat(k, n%200)
			must(t, a.Append(set(k, want[k]), true))
		}
	}
	write(50)
	for i := range 3 {
		c.Stop(i)
		write(20)
		c.Start(i)
		c.AwaitPeers(3)
		inStep(t, a) // before the next one is stopped
	}
	c.Stop(0)
	c.Stop(1)
	done := make(chan error, 1)
	n++
	want["waits"] = "for servers"
	go func() { done <- a.Append(set("waits", "for servers"), true) }()
	select {
	case err := <-done:
		t.Fatalf("one of three servers acknowledged (%v)", err)
	case <-time.After(time.Second): // that it never does cannot be waited for
	}
	c.Start(1)
	must(t, <-done)
	c.Start(0)
	c.AwaitPeers(3)
	equal(t, a, want)
	o.Dir = t.TempDir()
	b := lead(t, o)
	equal(t, b, want)
}

// inStep waits until all replicas of the stream have all its messages.
func inStep(t *testing.T, s *Store) {
	t.Helper()
	await.Until(t, "the replicas are in step", func() bool {
		info, err := s.stream.Info(t.Context())
		if err != nil || info.Cluster == nil || len(info.Cluster.Replicas) != 2 {
			return false
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline || r.Lag > 0 {
				return false
			}
		}
		return true
	})
}
