package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
)

func TestConnectionsAreReusedAndBounded(t *testing.T) {
	s := servertest.Start(t, servertest.Echo(same), server.Options{})
	p := pool(t, client.Options{Address: s.Addr().String(), MaxConns: 3})
	for i := range 100 {
		must(t, p, fmt.Sprint(i))
	}
	if got := p.Stats(); got.Dials != 1 || got.Idle != 1 || got.Calls != 100 {
		t.Errorf("one caller after another: %+v, want one dial", got)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for i := range 50 {
				must(t, p, strings.Repeat("x", i*i*10))
			}
		})
	}
	all.Wait()
	if got := p.Stats(); got.Dials > 3 || got.Idle > 3 || got.Active != 0 || got.Failed != 0 {
		t.Errorf("twenty callers: %+v, want at most three connections", got)
	}
}

// A timed-out connection carries a late reply; the next call on it would get the
// answer to an earlier one.
func TestATimedOutConnectionIsNeverUsedAgain(t *testing.T) {
	bubble(t, sleepy(time.Minute), client.Options{CallTimeout: time.Second}, func(t *testing.T, p *client.Pool) {
		begin := time.Now()
		_, err := echo(t.Context(), p, "sleep")
		e := noAnswer(t, err)
		if !e.Sent || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v, sent %v; want a deadline after 1s of a call that was sent", time.Since(begin), err, e.Sent)
		}
		for _, part := range []string{"peer at pipe:1", "no answer within the deadline", "waiting for the reply", "may have been executed"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q lacks %q", err, part)
			}
		}
		must(t, p, "next")
		if got := p.Stats(); got.Discarded != 1 || got.Dials != 2 {
			t.Errorf("%+v, want the connection discarded and another dialled", got)
		}
	})
}

func TestTheDeadlineOfTheContextCounts(t *testing.T) {
	bubble(t, sleepy(time.Minute), client.Options{CallTimeout: time.Hour}, func(t *testing.T, p *client.Pool) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := echo(ctx, p, "sleep"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	bubble(t, sleepy(time.Minute), client.Options{CallTimeout: time.Hour}, func(t *testing.T, p *client.Pool) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		begin := time.Now()
		_, err := echo(ctx, p, "sleep")
		if !errors.Is(err, context.Canceled) || time.Since(begin) != 2*time.Second || !noAnswer(t, err).Sent {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		must(t, p, "next")
		if got := p.Stats(); got.Discarded != 1 {
			t.Errorf("%+v, want the connection discarded", got)
		}
	})
}

func TestAnswersThatAreErrorsKeepTheConnection(t *testing.T) {
	h := func(_ context.Context, text string) (string, error) {
		switch text {
		case "declared":
			return "", &servertest.Refused{Text: "no"}
		case "undeclared":
			return "", errors.New("disk on fire")
		}
		return text, nil
	}
	bubble(t, h, client.Options{}, func(t *testing.T, p *client.Pool) {
		var refused *servertest.Refused
		if _, err := echo(t.Context(), p, "declared"); !errors.As(err, &refused) {
			t.Errorf("declared: %v", err)
		}
		var x thrift.TApplicationException
		if _, err := echo(t.Context(), p, "undeclared"); !errors.As(err, &x) || !strings.Contains(err.Error(), "on fire") {
			t.Errorf("undeclared: %v", err)
		}
		must(t, p, "next")
		if got := p.Stats(); got.Dials != 1 || got.Discarded != 0 || got.Failed != 0 {
			t.Errorf("%+v, want one connection for all", got)
		}
	})
}

func TestACallTooLargeHarmsNothing(t *testing.T) {
	bubble(t, same, client.Options{MaxFrame: 1000}, func(t *testing.T, p *client.Pool) {
		must(t, p, "before")
		_, err := echo(t.Context(), p, strings.Repeat("x", 2000))
		e := noAnswer(t, err)
		if e.Sent || e.Parts.Problem != api.Invalid || !strings.Contains(err.Error(), "limit of 1000 bytes") {
			t.Errorf("%v, sent %v", err, e.Sent)
		}
		must(t, p, "after")
		if got := p.Stats(); got.Dials != 1 {
			t.Errorf("%+v, want one connection for all", got)
		}
	})
}

func TestWaitingForAConnectionIsBounded(t *testing.T) {
	bubble(t, sleepy(time.Minute), client.Options{MaxConns: 1, CallTimeout: time.Hour}, func(t *testing.T, p *client.Pool) {
		done := make(chan error, 1)
		go func() { _, err := echo(context.Background(), p, "sleep"); done <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := echo(ctx, p, "waits")
		e := noAnswer(t, err)
		if e.Sent || e.Parts.Problem != api.Busy || !strings.Contains(err.Error(), "all 1 connections are in use") {
			t.Errorf("%v, sent %v", err, e.Sent)
		}
		must(t, p, "waits until the sleeper is done")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	bubble(t, sleepy(time.Second), client.Options{IdleTimeout: time.Minute}, func(t *testing.T, p *client.Pool) {
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { must(t, p, "sleep") })
		}
		all.Wait()
		if got := p.Stats().Idle; got != 5 {
			t.Fatalf("%d idle connections, want 5", got)
		}
		for range 3 {
			time.Sleep(40 * time.Second)
			must(t, p, "only one is needed")
		}
		if got := p.Stats().Idle; got != 1 {
			t.Errorf("%d idle connections after a minute, want 1", got)
		}
	})
}

// The reason of a daemon that may make no calls is its own: nothing is wrong with the peer.
func TestACallThatMayNotBeMadeNamesTheReason(t *testing.T) {
	reason := &api.Error{Problem: api.NotReady, Subject: `frontend "f1"`, What: "this process is a standby", Tried: "answering", Next: "call it there", Address: "other:1"}
	bubble(t, sleepy(0), client.Options{Closed: func() error { return reason }}, func(t *testing.T, p *client.Pool) {
		_, err := echo(t.Context(), p, "one")
		e := noAnswer(t, err)
		if e.Sent || e.Parts.Subject != reason.Subject || e.Parts.Next != reason.Next || e.Parts.Address != "" || e.Parts.Tried != "calling peer at pipe:1" {
			t.Errorf("%+v, sent %v; want the daemon's own reason, without the address of its leader", *e.Parts, e.Sent)
		}
		if got := p.Stats(); got.Dials != 0 {
			t.Errorf("%+v, want no dial", got)
		}
	})
}

// A pool at rest has no connection; one in use is not disturbed.
func TestRest(t *testing.T) {
	s := servertest.Start(t, servertest.Echo(same), server.Options{})
	p := pool(t, client.Options{Address: s.Addr().String(), MaxConns: 3})
	p.Rest()
	must(t, p, "one")
	p.Rest()
	if got := p.Stats(); got.Idle != 0 || got.Dials != 1 || got.Discarded != 0 {
		t.Errorf("at rest: %+v", got)
	}
	err := p.Do(t.Context(), func(ctx context.Context, c thrift.TClient) error {
		p.Rest()
		return nil
	})
	if got := p.Stats(); err != nil || got.Active != 0 || got.Dials > 2 {
		t.Errorf("after a call during which it was to rest: %+v, %v", got, err)
	}
	must(t, p, "two")
}

func TestCloseEndsCallsAndWaitsForThem(t *testing.T) {
	bubble(t, sleepy(time.Minute), client.Options{MaxConns: 2, CallTimeout: time.Hour}, func(t *testing.T, p *client.Pool) {
		ended := make(chan error, 3)
		for range 3 { // two in flight, one waiting
			go func() { _, err := echo(context.Background(), p, "sleep"); ended <- err }()
		}
		synctest.Wait()
		begin := time.Now()
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if got := p.Stats(); got.Idle+got.Active != 0 {
				t.Errorf("%+v after Close, want no connections", got)
			}
		}
		synctest.Wait()
		if len(ended) != 3 || time.Since(begin) != 0 {
			t.Errorf("Close returned after %v with %d of 3 calls ended", time.Since(begin), len(ended))
		}
		for range 3 {
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "pool is closed") {
				t.Errorf("a call ended with %v", err)
			}
		}
		if _, err := echo(t.Context(), p, "late"); err == nil || noAnswer(t, err).Sent {
			t.Errorf("a call after Close: %v", err)
		}
	})
}

// A reply that was not read would answer the next call.
func TestACallThatDidNotReadItsReply(t *testing.T) {
	bubble(t, same, client.Options{}, func(t *testing.T, p *client.Pool) {
		err := p.Do(t.Context(), func(ctx context.Context, c thrift.TClient) error {
			_, err := c.Call(ctx, "ekko", thrift.NewTApplicationException(0, "any struct"), nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		must(t, p, "next")
		if got := p.Stats(); got.Dials != 2 || got.Discarded != 1 {
			t.Errorf("%+v, want the connection discarded", got)
		}
	})
}

func TestAPanicInACallLosesNoPlace(t *testing.T) {
	bubble(t, same, client.Options{MaxConns: 1}, func(t *testing.T, p *client.Pool) {
		func() {
			defer func() { _ = recover() }()
			_ = p.Do(t.Context(), func(context.Context, thrift.TClient) error { panic("boom") })
		}()
		must(t, p, "next")
		if got := p.Stats(); got.Active != 0 {
			t.Errorf("%+v, want nothing active", got)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]client.Options{
		"Address":     {Address: "no port"},
		"MaxConns":    {Address: "a:1", MaxConns: -1},
		"CallTimeout": {Address: "a:1", CallTimeout: -1},
		"BackoffMin":  {Address: "a:1", BackoffMin: time.Minute},
		"MaxFrame":    {Address: "a:1", MaxFrame: -1},
	} {
		if _, err := client.New(o); err == nil || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
