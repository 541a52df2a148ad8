package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/thrift/frame"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// same answers with the text of the call.
func same(_ context.Context, text string) (string, error) { return text, nil }

// wire is one end of a connection that speaks frames by hand.
type wire struct {
	net.Conn
	t testing.TB
}

// dial connects to s; the connection is closed with the test.
func dial(t testing.TB, s *server.Server) *wire {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &wire{Conn: c, t: t}
}

// send writes bytes as they are.
func (w *wire) send(b ...byte) {
	w.t.Helper()
	if _, err := w.Write(b); err != nil {
		w.t.Fatal(err)
	}
}

// receive reads one frame.
func (w *wire) receive() []byte {
	w.t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(w, head[:]); err != nil {
		w.t.Fatalf("no reply: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(w, b); err != nil {
		w.t.Fatalf("half a reply: %v", err)
	}
	return b
}

// closed reads to the end of the connection, which the server must close.
func (w *wire) closed() {
	w.t.Helper()
	_, err := io.Copy(io.Discard, w)
	var op *net.OpError
	if err != nil && !errors.As(err, &op) {
		w.t.Fatalf("the connection ended with %v", err)
	}
}

// echo makes one call and checks its answer.
func (w *wire) echo(text string) {
	w.t.Helper()
	w.send(request(text)...)
	if got := w.receive(); !bytes.Contains(got, []byte(text)) {
		w.t.Fatalf("asked %q, answered %q", text, got)
	}
}

// request is the frame of echo(text), written by the library.
func request(text string) []byte {
	var l link
	tr := frame.NewTransport(&l, 64<<20)
	_, _ = servertest.Call(context.Background(), thrift.NewTStandardClient(tr.Protocol(0), tr.Protocol(0)), text)
	return l.sent
}

// link keeps the bytes that are sent and has nothing to read.
type link struct{ sent []byte }

func (l *link) Send(b []byte) error   { l.sent = append(l.sent, b...); return nil }
func (l *link) Next() ([]byte, error) { return nil, io.EOF }

// journal collects log lines.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// dialPipe returns the client's end of a new connection.
func dialPipe(t testing.TB, p *servertest.Pipes) *wire {
	t.Helper()
	c, err := p.Dial(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return &wire{Conn: c, t: t}
}

// lines counts the log lines that hold all the words.
func lines(log string, words ...string) int {
	n := 0
next:
	for line := range strings.Lines(log) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		n++
	}
	return n
}
