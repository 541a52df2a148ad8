package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/credentials/credentialstest"
	"github.com/pigeon-sched/pigeon/internal/identity"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// A call ends with its caller, whose connection and memory are free again: in clear, by TLS, and
// with a frame that is larger than the buffer of a connection. That of a caller who stays goes on.
func TestCallsEndWithTheirCallers(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	release := make(chan struct{})
	a := credentialstest.New(t, "c")
	s := servertest.Start(t, servertest.Echo(func(ctx context.Context, text string) (string, error) {
		began <- struct{}{}
		if text == "patient" {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-release:
				return text, nil
			}
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}), server.Options{Security: server.Security{Identifier: credentialstest.Open(t, a.Issue(identity.Master, "0"))}})
	patient := dial(t, s)
	patient.send(request("patient")...)
	<-began

	person := credentialstest.Open(t, credentials.Options{Cluster: "c", CA: a.CA})
	inClear := func() net.Conn { return dial(t, s) }
	secured := func() net.Conn {
		nc, err := tls.Dial("tcp", s.Addr().String(), person.Client(identity.Master, "0"))
		if err != nil {
			t.Fatal(err)
		}
		return nc
	}
	for name, c := range map[string]struct {
		connect func() net.Conn
		text    string
	}{
		"in clear":    {inClear, "gone"},
		"by TLS":      {secured, "gone"},
		"large frame": {inClear, string(make([]byte, 100_000))},
	} {
		conn := c.connect()
		if _, err := conn.Write(request(c.text)); err != nil {
			t.Fatal(err)
		}
		<-began
		_ = conn.Close()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the call ended with %v, want that it was cancelled", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the call of a caller that has gone still runs after a minute", name)
		}
	}
	await.Until(t, "connections and memory are given back", func() bool {
		st := s.Stats()
		return st.Open == 1 && st.Memory == 0
	})
	close(release)
	patient.receive()
	patient.send(request("patient")...)
	<-began
	patient.receive()
}
