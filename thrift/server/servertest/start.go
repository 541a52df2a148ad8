package servertest

import (
	"context"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/server"
)

// Start runs a server until the test ends and fails the test if it does not stop
// cleanly.
func Start(t testing.TB, p thrift.TProcessor, o server.Options) *server.Server {
	t.Helper()
	s, err := server.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := Run(t, s)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the server did not stop cleanly: %v", err)
		}
	})
	return s
}

// Run runs s and returns when it is ready; stop ends it and returns Run's error.
func Run(t testing.TB, s *server.Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-ended:
		cancel()
		t.Fatalf("the server did not start: %v", err)
	}
	return func() error {
		cancel()
		return <-ended
	}
}
