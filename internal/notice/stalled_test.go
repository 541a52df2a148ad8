package notice

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server that stops reading must not stop publishers: nats.go would keep
// them waiting for its lock.
func TestPublishDoesNotBlockOnAStalledServer(t *testing.T) {
	server := &cluster{t: t}
	server.start()
	way := &stalling{to: server, released: make(chan struct{})}
	release := sync.OnceFunc(func() { close(way.released) })
	up := make(chan bool, 100)
	c, err := Connect(Options{
		Access: Access{URL: "nats://" + clusterSecret + "@127.0.0.1:1"}, MaxQueued: 100, dialer: way,
		OnState: func(is bool) { up <- is }, Log: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	t.Cleanup(release) // before Close, which waits for a write that has begun
	await(t, "connected", up, true)
	way.stalled.Store(true)
	refused := make(chan error, 1)
	go func() {
		data := make([]byte, 64<<10) // more than nats.go collects before it writes
		for range 1000 {             // the queue empties at most once, into the batch that stalls
			if err := c.Publish("s", data); err != nil {
				refused <- err
				return
			}
		}
		refused <- nil
	}()
	select {
	case err := <-refused:
		if err == nil || !strings.Contains(err.Error(), "100 notices are queued (limit 100)") {
			t.Errorf("published to a stalled server: %v, want the limit of the queue", err)
		}
	case <-time.After(long):
		t.Error("Publish waits for a stalled server")
	}
}

// stalling dials servers whose sockets take nothing more once it has stalled. Deadlines of writes do
// not end that: how long the library waits for a socket is not what its tests are about.
type stalling struct {
	to       *cluster
	stalled  atomic.Bool
	released chan struct{} // closed to end the writes that wait
}

// Dial implements nats.CustomDialer.
func (s *stalling) Dial(network, address string) (net.Conn, error) {
	nc, err := s.to.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &stallingConn{nc, s}, nil
}

// stallingConn is a connection made by stalling.
type stallingConn struct {
	net.Conn
	of *stalling
}

func (c *stallingConn) Write(b []byte) (int, error) {
	if c.of.stalled.Load() {
		<-c.of.released
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *stallingConn) SetWriteDeadline(time.Time) error { return nil }

// A server that is too slow to confirm a subscription does not end the subscriber:
// notices are hints.
func TestSubscribeAtAStalledServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	held := make(chan net.Conn, 1)
	go acceptSilently(l, held)
	c, err := Connect(Options{Access: Access{URL: "nats://" + l.Addr().String()}, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	peer := <-held
	must(t, l.Close())
	must(t, c.Subscribe("s", func([]byte) {}))
	must(t, peer.Close())
	must(t, c.Close())
}

// acceptSilently accepts one client as a server does and then reads no more.
func acceptSilently(l net.Listener, held chan<- net.Conn) {
	peer, err := l.Accept()
	if err != nil {
		return
	}
	_, _ = io.WriteString(peer, `INFO {"server_id":"x","version":"2.10.0","proto":1,"max_payload":1048576,"headers":true}`+"\r\n")
	r := bufio.NewReader(peer)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if strings.HasPrefix(line, "PING") {
			_, _ = io.WriteString(peer, "PONG\r\n")
			held <- peer
			return
		}
	}
}
