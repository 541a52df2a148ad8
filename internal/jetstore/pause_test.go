package jetstore_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
)

// TestPauseOfPublishers loses the server that leads a stream, repeatedly, while a client
// publishes there and waits for each answer: killed, ended in order, or hung. Run with -v it
// says for how long no write succeeded.
func TestPauseOfPublishers(t *testing.T) {
	t.Parallel()
	rounds := 20
	if testing.Short() {
		rounds = 1
	}
	servers := natsservertest.StartProcesses(t, 3)
	o := options(t, servers.URL())
	o.Replicas = 3
	s := open(t, o)
	if _, err := s.Stream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for _, loss := range []struct {
		what       string
		lose, back func(int)
	}{
		{"killed", servers.Kill, servers.Start},
		{"ended in order", servers.End, servers.Start},
		{"hung", func(i int) { servers.Signal(i, syscall.SIGSTOP) }, func(i int) { servers.Signal(i, syscall.SIGCONT) }},
	} {
		var pauses []time.Duration
		for range rounds {
			i := servers.Leader("s")
			publish(t, s.JetStream(), 20) // the connections are up
			lost := make(chan struct{})
			go func() { defer close(lost); loss.lose(i) }()
			pauses = append(pauses, publish(t, s.JetStream(), 300))
			<-lost
			loss.back(i)
		}
		slices.Sort(pauses)
		t.Logf("the stream's leader is %s, %d times: no write succeeded for %v (p50), %v (the longest)", loss.what, rounds, pauses[len(pauses)/2].Round(time.Millisecond), pauses[len(pauses)-1].Round(time.Millisecond))
	}
}

// publish writes one after another and returns the longest time without a success.
func publish(t *testing.T, js jetstream.JetStream, writes int) (longest time.Duration) {
	t.Helper()
	last := time.Now()
	for range writes {
		daemontest.Await(t, "a write", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
			defer cancel()
			_, err := js.Publish(ctx, "s", []byte("x"), jetstream.WithRetryAttempts(10), jetstream.WithRetryWait(20*time.Millisecond))
			return err == nil
		})
		longest = max(longest, time.Since(last))
		last = time.Now()
	}
	return longest
}
