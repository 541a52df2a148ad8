package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

// Sizes around the read buffer (8 KiB), the first chunk (128 KiB) and the limit.
func TestMessagesOfEverySize(t *testing.T) {
	s := servertest.Start(t, servertest.Echo(same), server.Options{MaxFrame: server.ClientMaxFrame})
	c := dial(t, s)
	for _, n := range []int{0, 1, 8150, 8192, 8193, 128 << 10, 128<<10 + 1, 1 << 20, 16<<20 - 100} {
		c.echo(strings.Repeat("x", n))
	}
	await.Until(t, "the memory of the frames is given back", func() bool { return s.Stats().Memory == 0 })
	if got := s.Stats().Frames; got != 9 {
		t.Errorf("%d messages counted, want 9", got)
	}
}

func TestPipelinedMessagesInOneWrite(t *testing.T) {
	c := dial(t, servertest.Start(t, servertest.Echo(same), server.Options{}))
	c.send(append(request("first"), request("second")...)...)
	for _, want := range []string{"first", "second"} {
		if got := c.receive(); !bytes.Contains(got, []byte(want)) {
			t.Errorf("reply %q, want %q", got, want)
		}
	}
}

// Old clients write messages without a version; the protocol requires readers to
// accept them.
func TestMessageWithoutVersion(t *testing.T) {
	c := dial(t, servertest.Start(t, servertest.Echo(same), server.Options{}))
	args := request("old")[4+4+4+len("echo")+4:]
	msg := append([]byte{0, 0, 0, 4, 'e', 'c', 'h', 'o', 1, 0, 0, 0, 7}, args...)
	c.send(append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)...)
	if got := c.receive(); !bytes.Contains(got, []byte("old")) {
		t.Errorf("reply %q", got)
	}
}

func TestErrorsKeepTheConnection(t *testing.T) {
	s := servertest.Start(t, servertest.Echo(func(_ context.Context, text string) (string, error) {
		switch text {
		case "declared":
			return "", &servertest.Refused{Text: "no such thing"}
		case "undeclared":
			return "", errors.New("disk on fire")
		}
		return text, nil
	}), server.Options{})
	c := dial(t, s)
	for text, want := range map[string]string{"declared": "no such thing", "undeclared": "disk on fire"} {
		c.send(request(text)...)
		if got := c.receive(); !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: reply %q, want %q", text, got, want)
		}
	}
	c.send(bytes.Replace(request("x"), []byte("echo"), []byte("ekko"), 1)...)
	if got := c.receive(); !bytes.Contains(got, []byte("Unknown function ekko")) {
		t.Errorf("unknown method: reply %q", got)
	}
	c.echo("still here")
	if got := s.Stats().Failed; got != 2 {
		t.Errorf("%d failed calls counted, want 2: the undeclared error and the unknown method", got)
	}
}

func TestHandlerKnowsItsCaller(t *testing.T) {
	c := dial(t, servertest.Start(t, servertest.Echo(func(ctx context.Context, _ string) (string, error) {
		return server.Remote(ctx).String(), nil
	}), server.Options{}))
	c.send(request("who am I")...)
	if got := c.receive(); !bytes.Contains(got, []byte(c.LocalAddr().String())) {
		t.Errorf("the handler saw %q, want %v", got, c.LocalAddr())
	}
	if got := server.Remote(context.Background()); got != nil {
		t.Errorf("outside a call there is a caller: %v", got)
	}
}

func TestReplyBeyondTheLimitIsAnsweredWithAReason(t *testing.T) {
	s := servertest.Start(t, servertest.Echo(func(context.Context, string) (string, error) {
		return strings.Repeat("x", 5000), nil
	}), server.Options{MaxFrame: 4096})
	c := dial(t, s)
	c.send(request("all")...)
	if got := c.receive(); !bytes.Contains(got, []byte("exceeds the limit of 4096 bytes")) {
		t.Errorf("reply %q", got)
	}
	c.send(request("again")...)
	c.receive()
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := server.New(servertest.Echo(same), server.Options{Name: "scheduler service", Address: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	for _, part := range []string{"scheduler service", l.Addr().String(), "in use", "choose another"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]server.Options{
		"MaxFrame":     {MaxFrame: -1},
		"MaxConns":     {MaxConns: -1},
		"IdleTimeout":  {IdleTimeout: -1},
		"Memory":       {Memory: 1000},
		"FrameTimeout": {FrameTimeout: -1},
	} {
		if _, err := server.New(servertest.Echo(same), o); err == nil || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
