package notice

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// lowering is a server whose limit of notices is lowered while its clients are connected: they do
// not hear of it, and it refuses the next notice with an error for which the library closes the
// connection for good.
type lowering struct {
	*server.Server
	options *server.Options
}

func startLowering(t *testing.T, security *tls.Config) *lowering {
	t.Helper()
	options := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, TLSConfig: security, TLSTimeout: long.Seconds()}
	s, err := server.NewServer(options)
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return &lowering{s, options}
}

// refuse has the server close the connection of c, whose states are given.
func (l *lowering) refuse(t *testing.T, c *Conn, states <-chan bool) {
	t.Helper()
	lower := l.options.Clone()
	lower.MaxPayload = 10
	must(t, l.ReloadOptions(lower))
	must(t, c.Publish("another", []byte("longer than ten bytes")))
	await(t, "the refused connection", states, false)
}

// Notices flow again after the server has refused one, in both directions.
func TestAClosedConnectionIsReplaced(t *testing.T) {
	s := startLowering(t, nil)
	states := make(chan bool, 10)
	var log bytes.Buffer
	c, err := Connect(Options{Access: Access{URL: s.ClientURL()}, OnState: func(is bool) { states <- is }, Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	await(t, "the connection", states, true)
	other, err := Connect(Options{Access: Access{URL: s.ClientURL()}, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	got, take := texts()
	must(t, c.Subscribe("to.c", take))
	must(t, other.Subscribe("from.c", take))

	s.refuse(t, c, states)
	await(t, "its replacement", states, true)
	must(t, c.Subscribe("also.to.c", take)) // confirmed after those made before
	for _, subject := range []string{"to.c", "also.to.c"} {
		must(t, other.Publish(subject, []byte(subject)))
		await(t, "a notice", got, subject)
	}
	must(t, c.Publish("from.c", []byte("from.c")))
	await(t, "a notice", got, "from.c")
	if n := c.Stats(); n.Reconnects != 1 || n.Received != 2 || !n.Connected {
		t.Errorf("%+v, want one reconnect and two received", n)
	}
	must(t, other.Close())
	must(t, c.Close())
	if !strings.Contains(log.String(), "Maximum Payload Violation") || !strings.Contains(log.String(), "another one is made") {
		t.Errorf("the log does not say why:\n%s", &log)
	}
}

// Close ends a connection that is about to be replaced.
func TestCloseBeforeAReplacement(t *testing.T) {
	s := startLowering(t, nil)
	states := make(chan bool, 10)
	c, err := Connect(Options{Access: Access{URL: s.ClientURL()}, OnState: func(is bool) { states <- is }, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	await(t, "the connection", states, true)
	must(t, c.Subscribe("to.c", func([]byte) {}))
	s.refuse(t, c, states)
	must(t, c.Close())
	select {
	case is := <-states:
		t.Errorf("after Close the connection is reported as %v", is)
	default:
	}
}

// told gets what is logged, a line at a time.
type told chan string

func (t told) Write(line []byte) (int, error) {
	t <- string(line)
	return len(line), nil
}

// find returns the next line with that text.
func (t told) find(test *testing.T, text string) string {
	test.Helper()
	limit := time.After(long)
	for {
		select {
		case line := <-t:
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			test.Fatalf("the log has no %q after %v", text, long)
		}
	}
}

// A file that is missing when a connection is to be replaced, because somebody renews it just then,
// does not end the attempts.
func TestAReplacementNeedsAFile(t *testing.T) {
	authority := httptest.NewTLSServer(nil)
	t.Cleanup(authority.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw})
	must(t, os.WriteFile(file, text, 0o600))
	s := startLowering(t, &tls.Config{Certificates: authority.TLS.Certificates}) //nolint:gosec // of this test
	states, log := make(chan bool, 10), make(told, 1000)
	c, err := Connect(Options{Access: Access{URL: s.ClientURL(), CA: file}, OnState: func(is bool) { states <- is }, Log: slog.New(slog.NewTextHandler(log, nil))})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	await(t, "the connection", states, true)
	must(t, os.Remove(file))
	s.refuse(t, c, states)
	if line := log.find(t, "cannot be made"); !strings.Contains(line, "ca.pem") || !strings.Contains(line, "retry_after=200ms") {
		t.Errorf("the log has %s", line)
	}
	must(t, os.WriteFile(file, text, 0o600))
	await(t, "its replacement", states, true)
}

// A fault is logged again after a minute: another one, such as a subject that is not permitted, is not
// hidden for as long as the daemon lives.
func TestFaultsAreLoggedAgain(t *testing.T) {
	var c Conn
	now := time.Now()
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {faultsEvery - 1, false}, {faultsEvery, true}, {faultsEvery + 1, false}} {
		if got := c.mayLog(now.Add(step.after)); got != step.want {
			t.Errorf("after %v: %v, want %v", step.after, got, step.want)
		}
	}
}

// A connection that has lasted is replaced soon, the others later and later.
func TestPauses(t *testing.T) {
	var r replaced
	now := time.Now()
	for i, times := range []int{1, 2, 4, 8, 16, 32, 64, 100, 100} {
		if got, want := r.next(now), time.Duration(times)*pauseMin; got != want {
			t.Errorf("pause %d is %v, want %v", i, got, want)
		}
		r.at = now
		now = now.Add(pauseMax - 1)
	}
	if got := r.next(r.at.Add(pauseMax)); got != pauseMin {
		t.Errorf("after a connection that lasted the pause is %v, want %v", got, pauseMin)
	}
}
