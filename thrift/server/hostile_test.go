package server_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// Each of these is sent by some real peer that got the port or the protocol wrong,
// or by one that means harm. The log must name it.
func TestWhatIsNotThriftIsClosedWithAReason(t *testing.T) {
	frameOf := func(s string) []byte { return append([]byte{0, 0, 0, byte(len(s))}, s...) }
	call := string(request("x")[4:])
	for name, tc := range map[string]struct {
		bytes  []byte
		reason server.Reason
		log    string
	}{
		"http":             {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), server.Malformed, "speaks HTTP"},
		"tls":              {[]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01}, server.Malformed, "speaks TLS"},
		"unframed":         {request("x")[4:], server.Malformed, "unframed Thrift binary"},
		"oversized":        {[]byte{0, 0x10, 0, 1}, server.Oversized, "1048577 bytes exceeds the limit of 1048576"},
		"largest size":     {[]byte{0xff, 0xff, 0xff, 0xff}, server.Oversized, "4294967295 bytes"},
		"compact":          {frameOf("\x82\x21\x01\x04echo"), server.Malformed, "compact protocol"},
		"json":             {frameOf(`[1,"echo",1,0,{}]`), server.Malformed, "JSON protocol"},
		"random":           {frameOf("\x01\x02\x03\x04\x05\x06\x07\x08"), server.Malformed, "no message of Thrift"},
		"empty frame":      {[]byte{0, 0, 0, 0}, server.Malformed, "a frame of length zero"},
		"empty after good": {append(request("x"), 0, 0, 0, 0), server.Malformed, "a frame of length zero"},
		"one byte":         {frameOf("\x80"), server.Malformed, "no message of Thrift"},
		"a reply":          {frameOf("\x80\x01\x00\x02" + call[4:]), server.Malformed, "type 2 where a call"},
		"cut arguments":    {frameOf(call[:len(call)-2]), server.Malformed, "echo"},
		"trailing bytes":   {frameOf(call + "junk"), server.Malformed, "4 bytes follow"},
		"string too long":  {frameOf(call[:12] + "\x00\x00\x00\x01\x0b\x00\x01\x7f\xff\xff\xff"), server.Malformed, "echo"},
		"negative length":  {frameOf(call[:12] + "\x00\x00\x00\x01\x0b\x00\x01\xff\xff\xff\xff"), server.Malformed, "echo"},
		"list of billions": {frameOf(call[:12] + "\x00\x00\x00\x01\x0f\x00\x01\x0c\x7f\xff\xff\xff"), server.Malformed, "echo"},
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			s := servertest.Start(t, servertest.Echo(same), server.Options{Name: "test service", Log: log.logger()})
			good := dial(t, s)
			good.echo("before")
			bad := dial(t, s)
			bad.send(tc.bytes...)
			bad.closed()
			await.Until(t, "the connection is counted as ended", func() bool { return s.Stats().Ended[tc.reason] == 1 })
			await.Until(t, "one line with the reason", func() bool {
				return lines(log.text(), "connection closed", "test service", tc.reason.String(), tc.log,
					"remote="+bad.LocalAddr().String()) == 1
			})
			good.echo("after")
		})
	}
}

// A peer that stalls within a frame holds no more than its first chunk, and a
// frame for which there is no memory ends its own connection only.
func TestMemoryOfFramesInFlightIsBounded(t *testing.T) {
	s := servertest.Start(t, servertest.Echo(same), server.Options{MaxFrame: 1 << 20, Memory: 2 << 20})
	good := dial(t, s)
	good.echo("small frames need none")
	var stalled []*wire
	for range 16 { // 16 first chunks of 128 KiB are all there is
		c := dial(t, s)
		c.send(append([]byte{0, 0x0f, 0xff, 0xff}, make([]byte, 9000)...)...)
		stalled = append(stalled, c)
	}
	await.Until(t, "all memory is taken", func() bool { return s.Stats().Memory == 2<<20 })
	late := dial(t, s)
	late.send(append([]byte{0, 0x0f, 0xff, 0xff}, make([]byte, 9000)...)...)
	late.closed()
	if got := s.Stats().Ended[server.NoMemory]; got != 1 {
		t.Errorf("%d connections refused for memory, want 1", got)
	}
	good.echo("others go on")
	for _, c := range stalled {
		_ = c.Close()
	}
	await.Until(t, "the memory is given back", func() bool { return s.Stats().Memory == 0 })
	good.echo(strings.Repeat("x", 1<<20-100))
}

func TestPanicsAreContained(t *testing.T) {
	var log journal
	s := servertest.Start(t, servertest.Echo(func(_ context.Context, text string) (string, error) {
		if text == "boom" {
			panic("the fuse was short")
		}
		return text, nil
	}), server.Options{Name: "test service", Log: log.logger()})
	good, bad := dial(t, s), dial(t, s)
	good.echo("before")
	bad.send(request("boom")...)
	if got := bad.receive(); !bytes.Contains(got, []byte("echo: internal error; the log of the test service")) {
		t.Errorf("the caller was told %q", got)
	}
	bad.closed()
	good.echo("after")
	if st := s.Stats(); st.Panics != 1 || st.Ended[server.Panicked] != 1 {
		t.Errorf("stats %+v, want one panic", st)
	}
	if lines(log.text(), "a handler panicked", "the fuse was short", "hostile_test.go") != 1 {
		t.Errorf("no line with the panic and its stack in %q", log.text())
	}
}

// timed runs a server over pipes in a bubble of fake time.
func timed(t *testing.T, h servertest.Echo, o server.Options, body func(*server.Server, *servertest.Pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := servertest.NewPipes()
		o.Listener = p
		if o.Log == nil {
			o.Log = slog.New(slog.DiscardHandler)
		}
		s, err := server.New(h, o)
		if err != nil {
			t.Fatal(err)
		}
		stop := servertest.Run(t, s)
		body(s, p)
		if err := stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
}

func TestAByteASecondDoesNotLiveForEver(t *testing.T) {
	timed(t, same, server.Options{FrameTimeout: 10 * time.Second}, func(s *server.Server, p *servertest.Pipes) {
		c := dialPipe(t, p)
		begin := time.Now()
		for _, b := range request("slow") {
			if _, err := c.Write([]byte{b}); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		c.closed()
		synctest.Wait()
		if got := time.Since(begin); got < 10*time.Second || got > 12*time.Second {
			t.Errorf("closed after %v, want 10s after the first byte", got)
		}
		if got := s.Stats().Ended[server.Slow]; got != 1 {
			t.Errorf("%d connections ended as slow, want 1", got)
		}
	})
}

// The whole of a slow frame within its deadline is served, and the deadline of
// one frame does not reach into the next.
func TestSlowButInTime(t *testing.T) {
	timed(t, same, server.Options{FrameTimeout: 100 * time.Second}, func(_ *server.Server, p *servertest.Pipes) {
		c := dialPipe(t, p)
		for range 3 {
			for _, b := range request("slow") {
				c.send(b)
				time.Sleep(time.Second)
			}
			c.receive()
			time.Sleep(99 * time.Second)
		}
		_ = c.Close()
	})
}

// The end of an idle connection is counted, and is no line of the log: clients hold connections open for
// longer than that while their tasks run.
func TestIdleConnectionsEnd(t *testing.T) {
	var log journal
	timed(t, same, server.Options{IdleTimeout: time.Minute, Log: log.logger()}, func(s *server.Server, p *servertest.Pipes) {
		c := dialPipe(t, p)
		time.Sleep(50 * time.Second)
		c.echo("not idle yet")
		begin := time.Now()
		c.closed()
		synctest.Wait()
		if got := time.Since(begin); got != time.Minute {
			t.Errorf("closed after %v without a message, want 1m", got)
		}
		if got := s.Stats().Ended[server.Idle]; got != 1 {
			t.Errorf("%d connections ended as idle, want 1", got)
		}
	})
	if text := log.text(); text != "" {
		t.Errorf("it was logged: %s", text)
	}
}

func TestAPeerThatDoesNotReadItsReply(t *testing.T) {
	timed(t, same, server.Options{WriteTimeout: 7 * time.Second}, func(s *server.Server, p *servertest.Pipes) {
		c := dialPipe(t, p)
		c.send(request("deaf")...)
		begin := time.Now()
		one := make([]byte, 1)
		for {
			if _, err := c.Read(one); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := time.Since(begin); got < 7*time.Second || got > 8*time.Second {
			t.Errorf("closed after %v, want 7s", got)
		}
		if got := s.Stats().Ended[server.Unread]; got != 1 {
			t.Errorf("%d connections ended as unread, want 1", got)
		}
	})
}

func TestLogOfAFloodIsLimited(t *testing.T) {
	var log journal
	timed(t, same, server.Options{Log: log.logger()}, func(_ *server.Server, p *servertest.Pipes) {
		for range 50 {
			c := dialPipe(t, p)
			c.send([]byte("GET ")...)
			c.closed()
		}
		time.Sleep(2 * time.Second)
		c := dialPipe(t, p)
		c.send([]byte("GET ")...)
		c.closed()
	})
	if got := lines(log.text(), "HTTP"); got != 2 {
		t.Errorf("%d lines for a flood and a straggler, want 2:\n%s", got, log.text())
	}
	if lines(log.text(), "similar_lines_left_out=49") != 1 {
		t.Errorf("the lines left out are not counted:\n%s", log.text())
	}
}
