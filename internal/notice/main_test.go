package notice

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is how long a test waits for a signal before it fails.
const long = 20 * time.Second

// clusterSecret is that of the servers of a cluster.
const clusterSecret = "hush"

// cluster is a server that a test starts and stops behind one address.
type cluster struct {
	t      testing.TB
	mu     sync.Mutex
	server *Embedded // nil while stopped
	dialed func()    // if set, called before each attempt to reach a server
}

// start starts a server; the test's end stops it.
func (c *cluster) start() {
	c.t.Helper()
	c.startWith(clusterSecret)
}

// startWith starts a server that admits clients with that secret.
func (c *cluster) startWith(secret string) {
	c.t.Helper()
	e, err := startEmbedded("127.0.0.1:0", secret)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.server = e
	c.mu.Unlock()
	c.t.Cleanup(func() { _ = e.Close() })
}

func (c *cluster) stop() {
	c.mu.Lock()
	e := c.server
	c.server = nil
	c.mu.Unlock()
	_ = e.Close()
}

// Dial reaches the server that runs now, whatever the address.
func (c *cluster) Dial(network, _ string) (net.Conn, error) {
	if c.dialed != nil {
		c.dialed()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil, errors.New("no server runs")
	}
	return net.Dial(network, c.server.server.Addr().String())
}

// connect returns a connection that the test's end closes, and its states.
func (c *cluster) connect(o Options) (*Conn, chan bool) {
	c.t.Helper()
	states := make(chan bool, 100)
	o.URL, o.dialer, o.Log = "nats://"+clusterSecret+"@127.0.0.1:1", c, slog.New(slog.DiscardHandler)
	o.OnState = func(up bool) { states <- up }
	if o.ReconnectWait == 0 {
		o.ReconnectWait = 5 * time.Millisecond
	}
	conn, err := Connect(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return conn, states
}

// await takes a value from a channel and checks it.
func await[T comparable](t testing.TB, what string, ch <-chan T, want T) {
	t.Helper()
	select {
	case got := <-ch:
		if got != want {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	case <-time.After(long):
		t.Fatalf("%s: nothing came, want %v", what, want)
	}
}

// texts returns a channel and a function for Subscribe that fills it.
func texts() (chan string, func([]byte)) {
	ch := make(chan string, 100_000)
	return ch, func(b []byte) { ch <- string(b) }
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
