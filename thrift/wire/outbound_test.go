package wire_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// publishedServer is an application or backend written against the published table: it
// takes one call, shows it, and answers an empty result.
func publishedServer(t *testing.T, r raw) (address string, calls <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	shown, ended := make(chan string, 16), make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		for {
			body, err := readFrame(c)
			if err != nil {
				return
			}
			name, kind, _, f := parse(t, body)
			if kind != thrift.CALL {
				name = "not a call: " + name
			}
			shown <- name + " " + describe(f)
			answer := raw{lenient: r.lenient}.message(t, name, thrift.REPLY, fields{})
			copy(answer[len(answer)-5:], body[8+len(name):12+len(name)]) // the call's sequence number
			if writeFrame(c, answer) != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String(), shown
}

func pool(t *testing.T, address string) *client.Pool {
	t.Helper()
	p, err := client.New(client.Options{Address: address, CallTimeout: time.Minute})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// Our calls to published applications and backends, id by id.
func TestCallsToPublishedPrograms(t *testing.T) {
	for _, r := range []raw{{}, {lenient: true}} {
		address, calls := publishedServer(t, r)
		p, ctx := pool(t, address), context.Background()
		backend, application := wire.NewBackendClient(p), wire.NewFrontendClient(p)
		bare := wire.TaskRef{Task: "t", Job: "j", App: "a"}
		must(t,
			backend.LaunchTask(ctx, []byte("\x00\x00\x00\x07"), pigeonRef, wire.User{Name: "ada", Group: "users", Priority: -7}),
			backend.LaunchTask(ctx, nil, bare, wire.User{}),
			application.FrontendMessage(ctx, pigeonRef, 1, []byte("hi")),
			application.FrontendMessage(ctx, bare, 0, nil),
		)
		for _, want := range []string{
			`launchTask {1:"\x00\x00\x00\a" 2:{1:"t1" 2:"job" 3:"app" 4:{1:"10.0.0.1" 2:20503} 5:true} 3:{1:"ada" 2:"users" 3:-7}}`,
			`launchTask {1:"" 2:{1:"t" 2:"j" 3:"a" 5:false} 3:{1:"" 2:"" 3:0}}`,
			`frontendMessage {1:{1:"t1" 2:"job" 3:"app" 4:{1:"10.0.0.1" 2:20503} 5:true} 2:1 3:"hi"}`,
			`frontendMessage {1:{1:"t" 2:"j" 3:"a" 5:false} 2:0 3:""}`,
		} {
			if got := <-calls; got != want {
				t.Errorf("%v: said\n%s\nwant\n%s", r, got, want)
			}
		}
	}
}
