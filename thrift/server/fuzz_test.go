package server_test

import (
	"log/slog"
	"net"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// FuzzConnection sends random bytes to a server and then asks it something on
// another connection. A crash fails the target, and so does a server that no
// longer answers or still holds memory.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(request("hello"))
	f.Add(append([]byte{0, 0, 0, 0}, request("hello")...))
	f.Add(request("hello")[:20])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	s := servertest.Start(f, servertest.Echo(same), server.Options{MaxFrame: 64 << 10, Log: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, b []byte) {
		bad := dial(t, s)
		_, _ = bad.Write(b) // the server may have closed it already
		_ = bad.Conn.(*net.TCPConn).CloseWrite()
		bad.closed()
		good := dial(t, s)
		good.echo("alive")
		_ = good.Close()
		await.Until(t, "connections and memory are given back", func() bool {
			st := s.Stats()
			return st.Open == 0 && st.Memory == 0
		})
	})
}
