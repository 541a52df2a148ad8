package server_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

func TestStopClosesIdleConnectionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := servertest.NewPipes()
		s, err := server.New(servertest.Echo(same), server.Options{Listener: p})
		if err != nil {
			t.Fatal(err)
		}
		stop := servertest.Run(t, s)
		idle, used, half := dialPipe(t, p), dialPipe(t, p), dialPipe(t, p)
		used.echo("once")
		half.send(0, 0)
		synctest.Wait()
		begin := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, c := range []*wire{idle, used, half} {
			c.closed()
		}
		if got := time.Since(begin); got != 0 {
			t.Errorf("stopping took %v, want no time", got)
		}
		if got := s.Stats(); got.Open != 0 || got.Ended[server.Finished] != 3 {
			t.Errorf("stats %+v, want 3 finished", got)
		}
	})
}

// takes returns a handler that works for d, or until its context ends if it obeys
// it.
func takes(d time.Duration, heeds bool) servertest.Echo {
	return func(ctx context.Context, text string) (string, error) {
		end := ctx.Done()
		if !heeds {
			end = nil
		}
		select {
		case <-time.After(d):
			return text, nil
		case <-end:
			return "", ctx.Err()
		}
	}
}

func TestStopWithACallInFlight(t *testing.T) {
	for name, tc := range map[string]struct {
		handler servertest.Echo
		takes   time.Duration // from stop to the return of Run
		reply   bool
		err     string
	}{
		"finishes in time":     {takes(3*time.Second, true), 3 * time.Second, true, ""},
		"is cancelled":         {takes(time.Hour, true), 5 * time.Second, false, ""},
		"heeds nothing":        {takes(8*time.Second, false), 8 * time.Second, false, ""},
		"heeds nothing at all": {takes(time.Minute, false), 10 * time.Second, false, "1 calls still run 5s after their context ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := servertest.NewPipes()
				s, err := server.New(tc.handler, server.Options{Listener: p, StopTimeout: 5 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				stop := servertest.Run(t, s)
				c := dialPipe(t, p)
				c.send(request("working")...)
				synctest.Wait()
				reply := make(chan int64, 1)
				go func() {
					n, _ := c.Read(make([]byte, 1024))
					reply <- int64(n)
				}()
				begin := time.Now()
				err = stop()
				if got := time.Since(begin); got != tc.takes {
					t.Errorf("stopping took %v, want %v", got, tc.takes)
				}
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("Run returned %v, want %q", err, tc.err)
				}
				if got := <-reply > 0; got != tc.reply {
					t.Errorf("reply delivered: %v, want %v", got, tc.reply)
				}
				time.Sleep(time.Hour) // the handler that ignores its context ends too
			})
		})
	}
}

func TestCloseIsSafeAtAnyTime(t *testing.T) {
	s, err := server.New(servertest.Echo(same), server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Addr() != nil {
		t.Error("an address before Listen")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing a new server: %v", err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	taken := s.Addr().String()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("closing a server that listens: %v", err)
		}
	}
	again := servertest.Start(t, servertest.Echo(same), server.Options{Address: taken})
	if err := again.Close(); err != nil {
		t.Errorf("closing a running server: %v", err)
	}
	dial(t, again).echo("runs on")
	if err := again.Run(t.Context()); err == nil {
		t.Error("a second Run was allowed")
	}
}

func TestReasonsHaveLabels(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range server.Reasons() {
		if r.String() == "" || seen[r.String()] {
			t.Errorf("reason %d has the label %q", r, r)
		}
		seen[r.String()] = true
	}
}
