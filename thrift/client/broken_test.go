package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// The peer restarts between two calls: the second goes to the new process, once.
func TestAnIdleConnectionThatThePeerClosedIsReplaced(t *testing.T) {
	var calls atomic.Int32
	h := servertest.Echo(func(_ context.Context, text string) (string, error) {
		calls.Add(1)
		return text, nil
	})
	first, err := server.New(h, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := servertest.Run(t, first)
	now := first // the process behind the address
	p := pool(t, client.Options{
		Address: "peer:1",
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", now.Addr().String())
		},
	})
	must(t, p, "first")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	now = servertest.Start(t, h, server.Options{})
	must(t, p, "second")
	if got := p.Stats(); got.Stale != 1 || got.Dials != 2 || got.Failed != 0 || calls.Load() != 2 {
		t.Errorf("%+v and %d calls, want one stale connection and two calls", got, calls.Load())
	}
}

// raw serves each connection with a function and counts connections.
func raw(t *testing.T, serve func(net.Conn)) (address string, accepted *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int32)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			serve(c)
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l.Addr().String(), accepted
}

// Once a byte was written the client cannot know whether the call was executed; it
// must not be repeated without the caller's knowledge.
func TestACallThatMayHaveBeenExecutedIsNotRepeated(t *testing.T) {
	for name, reply := range map[string]string{
		"closed without a reply": "",
		"half a size":            "\x00\x00",
		"half a reply":           "\x00\x00\x00\x20\x80\x01\x00\x02",
		"a frame of garbage":     "\x00\x00\x00\x04oops",
		"a frame too large":      "\x7f\xff\xff\xff",
		"another call's reply":   "\x00\x00\x00\x15\x80\x01\x00\x02\x00\x00\x00\x04echo\x00\x00\x00\x63\x0b\x00\x00\x00\x00",
		"another method's reply": "\x00\x00\x00\x15\x80\x01\x00\x02\x00\x00\x00\x04ekko\x00\x00\x00\x01\x0b\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			address, accepted := raw(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 1024))
				_, _ = io.WriteString(c, reply)
			})
			p := pool(t, client.Options{Address: address})
			_, err := echo(t.Context(), p, "once")
			if e := noAnswer(t, err); !e.Sent || !strings.Contains(err.Error(), "may have been executed") {
				t.Errorf("%v, sent %v", err, e.Sent)
			}
			if accepted.Load() != 1 {
				t.Errorf("%d connections, want 1", accepted.Load())
			}
			if got := p.Stats(); got.Idle != 0 || got.Failed != 1 {
				t.Errorf("%+v, want nothing kept", got)
			}
		})
	}
}

// More than was asked for makes a connection suspect.
func TestBytesThatNobodyAskedForEndTheConnection(t *testing.T) {
	reply := "\x00\x00\x00\x19\x80\x01\x00\x02\x00\x00\x00\x04echo\x00\x00\x00\x01\x0b\x00\x00\x00\x00\x00\x01x\x00"
	address, accepted := raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1024))
		_, _ = io.WriteString(c, reply+reply)
		_, _ = c.Read(make([]byte, 1)) // until the client closes
	})
	p := pool(t, client.Options{Address: address})
	must(t, p, "x")
	must(t, p, "x")
	if accepted.Load() != 2 || p.Stats().Idle > 1 {
		t.Errorf("%d connections, want a fresh one for the second call", accepted.Load())
	}
}

func TestATrickleOfAReplyEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		var peer sync.WaitGroup
		defer peer.Wait()
		peer.Go(func() {
			_, _ = far.Read(make([]byte, 1024))
			for _, b := range append([]byte{0, 0, 1, 0}, bytes.Repeat([]byte{1}, 256)...) {
				if _, err := far.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		p := pool(t, client.Options{
			Address: "pipe:1", CallTimeout: 10 * time.Second,
			Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil },
		})
		begin := time.Now()
		if _, err := echo(t.Context(), p, "x"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// refusing counts dials and refuses them while down is set.
type refusing struct {
	pipes *servertest.Pipes
	down  atomic.Bool
	dials atomic.Int32
}

func (r *refusing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r.dials.Add(1)
	if r.down.Load() {
		return nil, errors.New("connection refused")
	}
	return r.pipes.Dial(ctx, network, address)
}

func TestBackoffAfterFailedDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &refusing{pipes: servertest.NewPipes()}
		servertest.Start(t, servertest.Echo(same), server.Options{Listener: r.pipes})
		r.down.Store(true)
		p := pool(t, client.Options{Address: "pipe:1", Dial: r.dial, MaxConns: 50, CallTimeout: time.Minute})
		answers := make(chan error, 30)
		for range 30 { // wait together for the peer to come back
			go func() {
				var err error
				for {
					if _, err = echo(context.Background(), p, "x"); err == nil || noAnswer(t, err).Sent {
						break
					}
				}
				answers <- err
			}()
		}
		time.Sleep(20 * time.Second)
		// One caller tries for all: about seven steps from 10 ms to 1 s, then
		// between 18 and 38 of 0.5 to 1 s.
		if got := r.dials.Load(); got < 22 || got > 50 {
			t.Errorf("%d dials in 20s by 30 callers, want one each 0.5 to 1s", got)
		}
		r.down.Store(false)
		begin := time.Now()
		for range 30 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if got := time.Since(begin); got > time.Second {
			t.Errorf("answered %v after the peer came back, want at most the longest pause", got)
		}
	})
}

func TestFailFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &refusing{pipes: servertest.NewPipes()}
		servertest.Start(t, servertest.Echo(same), server.Options{Listener: r.pipes})
		r.down.Store(true)
		p := pool(t, client.Options{
			Name: "master of group 3", Address: "pipe:1", Dial: r.dial, FailFast: true, BackoffMin: 100 * time.Millisecond,
		})
		for range 2 { // the dial itself, then the pause
			_, err := echo(t.Context(), p, "x")
			var parts *api.Error
			if !errors.As(err, &parts) || parts.Problem != api.NotReady || noAnswer(t, err).Sent {
				t.Fatalf("%v", err)
			}
			for _, part := range []string{"master of group 3 at pipe:1", "connection refused", "while connecting", "check that it runs"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		}
		if _, err := echo(t.Context(), p, "x"); noAnswer(t, err).Parts.RetryAfter < 50*time.Millisecond || r.dials.Load() != 1 {
			t.Errorf("%v after %d dials, want when to retry and one dial", err, r.dials.Load())
		}
		r.down.Store(false)
		time.Sleep(100 * time.Millisecond)
		must(t, p, "back")
	})
}

// Whatever the peer does, a reply is the reply to its own call, and a call is
// executed at most once.
func TestAnswersBelongToTheirQuestions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "late", "refuse", "fail", "panic", "cancel"}), 1, 30).Draw(rt, "plan")
		synctest.Test(t, func(t *testing.T) {
			executed := make([]atomic.Int32, len(plan))
			pipes := servertest.NewPipes()
			servertest.Start(t, servertest.Echo(func(_ context.Context, text string) (string, error) {
				i := int(text[0])
				executed[i].Add(1)
				switch plan[i] {
				case "late", "cancel":
					time.Sleep(3 * time.Second)
				case "refuse":
					return "", &servertest.Refused{Text: text}
				case "fail":
					return "", errors.New(text)
				case "panic":
					panic(text)
				}
				return text, nil
			}), server.Options{Listener: pipes, Log: discard})
			p := pool(t, client.Options{Address: "pipe:1", Dial: pipes.Dial, MaxConns: 4, CallTimeout: 2 * time.Second})
			var all sync.WaitGroup
			for i := range plan {
				all.Go(func() { ask(t, p, plan[i], string([]byte{byte(i)})+plan[i]) })
			}
			all.Wait()
			for i := range executed {
				if n := executed[i].Load(); n > 1 {
					t.Errorf("question %d was executed %d times", i, n)
				}
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// ask checks that the reply fits what the plan does to the call.
func ask(t *testing.T, p *client.Pool, plan, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if plan == "cancel" {
		time.AfterFunc(time.Second, cancel)
	}
	if plan == "late" {
		ctx = context.WithoutCancel(ctx)
	}
	got, err := echo(ctx, p, text)
	var refused *servertest.Refused
	var x thrift.TApplicationException
	var lost *client.CallError
	fits := map[string]bool{
		"ok":     err == nil && got == text,
		"late":   errors.As(err, &lost),
		"cancel": errors.As(err, &lost),
		"refuse": errors.As(err, &refused) && refused.Text == text,
		"fail":   errors.As(err, &x) && x.Error() == text,
		"panic":  errors.As(err, &x) && strings.Contains(x.Error(), "internal error"),
	}
	// Waiting for a place may use up the time of any of them.
	if !fits[plan] && !(errors.As(err, &lost) && !lost.Sent) {
		t.Errorf("%s: got %q and %v", plan, got, err)
	}
}

// The error of a call to a program that speaks another protocol names that protocol, and says
// that trying again is of no use.
func TestAnotherProtocol(t *testing.T) {
	for greeting, want := range map[string]string{"INFO {}\r\n": "speaks NATS", "HTTP/1.1 400 Bad Request\r\n\r\n": "speaks HTTP", "SSH-2.0-x\r\n": "speaks SSH"} {
		address, accepted := raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, greeting)
			_, _ = io.Copy(io.Discard, c)
		})
		p := pool(t, client.Options{Name: "frontend", Address: address})
		_, err := echo(t.Context(), p, "x")
		var parts *api.Error
		if !errors.As(err, &parts) || parts.Problem != api.Invalid || !strings.Contains(parts.What, want) || !strings.Contains(parts.Next, "another program") {
			t.Errorf("%q gives %v", greeting, err)
		}
		if accepted.Load() != 1 {
			t.Errorf("%d connections, want 1", accepted.Load())
		}
	}
}
