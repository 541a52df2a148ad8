package client_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discard keeps what tests provoke out of their output.
var discard = slog.New(slog.DiscardHandler)

// same answers with the text of the call.
func same(_ context.Context, text string) (string, error) { return text, nil }

// pool returns a pool that the test's end closes.
func pool(t testing.TB, o client.Options) *client.Pool {
	t.Helper()
	p, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// echo makes one call.
func echo(ctx context.Context, p *client.Pool, text string) (answer string, err error) {
	err = p.Do(ctx, func(ctx context.Context, c thrift.TClient) (err error) {
		answer, err = servertest.Call(ctx, c, text)
		return err
	})
	return answer, err
}

// must makes a call that has to be answered with its own text.
func must(t testing.TB, p *client.Pool, text string) {
	t.Helper()
	if got, err := echo(context.Background(), p, text); err != nil || got != text {
		t.Fatalf("asked %q, got %q and %v", text, got, err)
	}
}

// bubble runs a server and a pool to it in fake time.
func bubble(t *testing.T, h servertest.Echo, o client.Options, body func(*testing.T, *client.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pipes := servertest.NewPipes()
		servertest.Start(t, h, server.Options{Listener: pipes, Log: discard})
		o.Address, o.Dial = "pipe:1", pipes.Dial
		body(t, pool(t, o))
	})
}

// noAnswer unwraps a call that got no answer.
func noAnswer(t testing.TB, err error) *client.CallError {
	t.Helper()
	var e *client.CallError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a CallError", err)
	}
	return e
}

// sleepy waits for "sleep" and answers everything else at once.
func sleepy(d time.Duration) servertest.Echo {
	return func(ctx context.Context, text string) (string, error) {
		if text == "sleep" {
			select {
			case <-time.After(d):
			case <-ctx.Done(): // the server stops
			}
		}
		return text, nil
	}
}
