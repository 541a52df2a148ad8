package notice

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// A server that stops reading must not stop publishers: nats.go would keep
// them waiting for its lock.
func TestPublishDoesNotBlockOnAStalledServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	held := make(chan net.Conn, 1)
	go acceptSilently(l, held)
	c, err := Connect(Options{Access: Access{URL: "nats://" + l.Addr().String()}, MaxQueued: 100, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	peer := <-held
	must(t, l.Close())
	var refusal error
	for range 10_000 { // far more than the sockets' buffers hold
		if refusal = c.Publish("s", make([]byte, 64<<10)); refusal != nil {
			break
		}
	}
	if refusal == nil || !strings.Contains(refusal.Error(), "notices are queued (limit 100)") {
		t.Errorf("published to a stalled server: %v, want the limit of the queue", refusal)
	}
	must(t, peer.Close())
	must(t, c.Close())
}

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
