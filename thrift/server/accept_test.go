package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/internal/await"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

func TestCaps(t *testing.T) {
	for name, tc := range map[string]struct {
		options server.Options
		reason  server.Reason
	}{
		"in all":      {server.Options{MaxConns: 3}, server.Full},
		"per address": {server.Options{MaxConnsPerHost: 3}, server.HostFull},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Log = slog.New(slog.DiscardHandler)
			s := servertest.Start(t, servertest.Echo(same), tc.options)
			var in []*wire
			for range 3 {
				c := dial(t, s)
				c.echo("in")
				in = append(in, c)
			}
			for range 20 {
				dial(t, s).closed()
			}
			if got := s.Stats(); got.Ended[tc.reason] != 20 || got.Open != 3 {
				t.Errorf("stats %+v, want 20 refused and 3 open", got)
			}
			in[0].echo("unharmed")
			_ = in[1].Close()
			await.Until(t, "a place is free", func() bool { return s.Stats().Open == 2 })
			dial(t, s).echo("in again")
		})
	}
}

func TestAcceptErrorsThatPass(t *testing.T) {
	timed(t, same, server.Options{}, func(s *server.Server, p *servertest.Pipes) {
		begin := time.Now()
		for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS} {
			p.Fail(&net.OpError{Op: "accept", Net: "tcp", Err: errno})
		}
		c := dialPipe(t, p)
		c.echo("served after all")
		_ = c.Close()
		if got, want := time.Since(begin), (5+10+20)*time.Millisecond; got != want {
			t.Errorf("backed off for %v, want %v", got, want)
		}
		for range 20 {
			p.Fail(syscall.EMFILE)
		}
		begin = time.Now()
		c = dialPipe(t, p)
		c.echo("served after all")
		_ = c.Close()
		if got := time.Since(begin); got > 20*time.Second {
			t.Errorf("backed off for %v, want at most a second each time", got)
		}
		if got := s.Stats().AcceptErrors; got != 24 {
			t.Errorf("%d accept errors counted, want 24", got)
		}
	})
}

// The stock server returns nil here while the port still accepts.
func TestAListenerThatEndsIsFatal(t *testing.T) {
	for _, end := range []error{net.ErrClosed, errors.New("the network is gone")} {
		synctest.Test(t, func(t *testing.T) {
			p := servertest.NewPipes()
			s, err := server.New(servertest.Echo(same), server.Options{Name: "test service", Listener: p})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Run(context.Background()) }()
			c := dialPipe(t, p)
			c.echo("alive")
			p.Fail(end)
			err = <-ended
			if !errors.Is(err, end) || !strings.Contains(err.Error(), "test service: the listener on pipe ended") {
				t.Errorf("Run returned %v, want the end of the listener", err)
			}
			c.closed()
		})
	}
}

func TestStopIsBoundedWhileAcceptBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servertest.NewPipes()
		for range 20 {
			p.Fail(syscall.EMFILE)
		}
		s, err := server.New(servertest.Echo(same), server.Options{Listener: p, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stop := servertest.Run(t, s)
		time.Sleep(3 * time.Second)
		begin := time.Now()
		if err := stop(); err != nil || time.Since(begin) != 0 {
			t.Errorf("stopped after %v with %v, want at once", time.Since(begin), err)
		}
	})
}
