package notice

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
)

// A server that is lost while it confirms a subscription does not end the subscriber, however
// soon the next one is reached: that one gets the subscription when the connection is renewed.
func TestAServerIsLostWhileItConfirms(t *testing.T) {
	for range 300 {
		s := &leaving{}
		c, err := Connect(Options{
			Access: Access{URL: "nats://127.0.0.1:1,nats://127.0.0.1:2"}, dialer: s, Log: slog.New(slog.DiscardHandler),
		})
		must(t, err)
		err = c.Subscribe("s", func([]byte) {})
		must(t, c.Close())
		s.serving.Wait()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// leaving is two servers of one cluster: the first one that is dialled ends when it is to confirm
// a subscription, and the other one stays.
type leaving struct {
	mu      sync.Mutex
	left    bool
	serving sync.WaitGroup
}

// Dial implements nats.CustomDialer.
func (l *leaving) Dial(string, string) (net.Conn, error) {
	client, peer := net.Pipe()
	l.mu.Lock()
	stays := l.left
	l.left = true
	l.mu.Unlock()
	l.serving.Go(func() { serveUntil(peer, stays) })
	return client, nil
}

// serveUntil answers the pings of a client; unless it stays, only the first one.
func serveUntil(peer net.Conn, stays bool) {
	defer peer.Close()
	_, _ = io.WriteString(peer, `INFO {"server_id":"x","version":"2.10.0","proto":1,"max_payload":1048576,"headers":true}`+"\r\n")
	r := bufio.NewReader(peer)
	for answered := 0; ; {
		line, err := r.ReadString('\n')
		if err != nil || answered > 0 && !stays && strings.HasPrefix(line, "PING") {
			return
		}
		if strings.HasPrefix(line, "PING") {
			_, _ = io.WriteString(peer, "PONG\r\n")
			answered++
		}
	}
}
