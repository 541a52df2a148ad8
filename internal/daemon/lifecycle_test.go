package daemon_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// small is a daemon with one of everything. It records what happens to it, in order.
type small struct {
	*daemon.Lifecycle
	loop    *runloop.Loop[func()]
	address string // of its service
	status  *telemetry.Server
	task    func(ctx context.Context)

	mu     sync.Mutex
	events []string
}

func (d *small) note(event string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, event)
}

func (d *small) noted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.events, ", ")
}

func newSmall(t testing.TB) *small {
	t.Helper()
	d := &small{Lifecycle: daemon.New("small daemon", slog.New(slog.DiscardHandler)), task: func(ctx context.Context) { <-ctx.Done() }}
	d.loop = runloop.New(10, func(batch []func()) {
		for _, do := range batch {
			do()
		}
	})
	d.OnClose(func() error { d.note("first closed"); return nil })
	m := telemetry.NewMetrics("small")
	s, err := d.Listen(echo, server.Options{Name: "service", Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	d.address = s.Addr().String()
	if d.status, err = d.Status("127.0.0.1:0", m, nil, func(*telemetry.Server) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Tracing(telemetry.Options{Service: "small"}, m); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Record(t.TempDir(), "small"); err != nil {
		t.Fatal(err)
	}
	d.OnClose(func() error { d.note("last closed"); return nil })
	return d
}

func (d *small) Run(ctx context.Context) error {
	return d.Lifecycle.Run(ctx, daemon.Parts{
		Connect: func() error { d.note("connect"); return nil },
		Owner:   func(ctx context.Context) { d.loop.Run(ctx); d.note("owner ended") },
		Tasks:   []func(context.Context){func(ctx context.Context) { d.task(ctx); d.note("task ended") }},
		Started: d.MarkReady,
		Wake:    func() { d.note("wake") },
		Drain: func() {
			if d.dial() != nil {
				d.note("drain without a service")
			}
			d.note("drain")
		},
		Drained: func() error { d.note("drained"); return d.loop.Post(func() { d.note("posted while stopping") }) },
	})
}

// dial reports whether the service can be reached.
func (d *small) dial() error {
	c, err := net.DialTimeout("tcp", d.address, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// The parts are stopped in order, and whatever was opened is closed, the last first.
func TestOrder(t *testing.T) {
	d := newSmall(t)
	d.task = func(ctx context.Context) { <-ctx.Done(); <-d.Stopping() }
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-d.Ready(); stop() }()
	if err := d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	got := strings.Replace(d.noted(), "task ended, wake", "wake, task ended", 1) // they are concurrent
	want := "connect, wake, task ended, drain, drained, posted while stopping, owner ended, last closed, first closed"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := d.dial(); err == nil {
		t.Error("the service still listens")
	}
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "small daemon was already run or closed") {
		t.Errorf("a second Run returned %v", err)
	}
	if err := d.Close(); err != nil || strings.Count(d.noted(), "first closed") != 1 {
		t.Errorf("Close after Run returned %v, and what happened is: %s", err, d.noted())
	}
}

// The first failure ends the daemon and is what Run returns.
func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	for name, d := range map[string]func(*small){
		"a task":             func(d *small) { d.task = func(context.Context) { d.Fail(broken) } },
		"Fail":               func(d *small) { d.Fail(broken); d.Fail(errors.New("a later reason")) },
		"Fail while serving": func(d *small) { go func() { <-d.Ready(); d.Fail(broken) }() },
		"closing a part":     func(d *small) { d.OnClose(func() error { return broken }); d.Fail(errors.New("a reason")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSmall(t)
			d(s)
			err := s.Run(t.Context())
			if !errors.Is(err, broken) || strings.Contains(err.Error(), "later") {
				t.Errorf("Run returned %v", err)
			}
			if !strings.HasSuffix(s.noted(), "last closed, first closed") {
				t.Errorf("not everything was closed: %s", s.noted())
			}
		})
	}
}

// A failure while the daemon stops is returned too.
func TestFailureWhileStopping(t *testing.T) {
	d, broken := newSmall(t), errors.New("broken")
	d.task = func(ctx context.Context) { <-ctx.Done(); d.Fail(broken) }
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := d.Run(stopped); !errors.Is(err, broken) {
		t.Errorf("Run returned %v", err)
	}
}

// A daemon whose service ends by itself ends with it.
func TestServiceEndsByItself(t *testing.T) {
	d := newSmall(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Listen(echo, server.Options{Name: "second service", Listener: closed}); err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run returned %v", err)
	}
}

// A daemon that cannot connect starts nothing, and closes what it opened.
func TestConnectFails(t *testing.T) {
	d := newSmall(t)
	broken := errors.New("broken")
	err := d.Lifecycle.Run(t.Context(), daemon.Parts{Connect: func() error { return broken }, Owner: func(context.Context) { t.Error("the owner runs") }})
	if !errors.Is(err, broken) || d.noted() != "last closed, first closed" {
		t.Errorf("%v; %s", err, d.noted())
	}
}

// Run and Close may come in any order, at once and more than once: whatever was opened
// is closed once, and no goroutine is left.
func TestStartStopStress(t *testing.T) {
	for i := range 60 {
		d := newSmall(t)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		refused := make(chan error, 2)
		for range 2 {
			all.Go(func() { refused <- d.Run(ctx) })
		}
		if i%3 == 0 {
			all.Go(func() { _ = d.Close() }) // whichever comes first counts
		}
		if i%2 == 0 {
			stop() // before it has started, or while it starts
		} else {
			all.Go(func() {
				time.AfterFunc(time.Duration(i)*100*time.Microsecond, stop) // anywhere in its start
			})
		}
		all.Wait()
		stop()
		if a, b := <-refused, <-refused; a == nil && b == nil {
			t.Fatal("both calls of Run served")
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(d.noted(), "first closed"); n != 1 {
			t.Fatalf("closed %d times: %s", n, d.noted())
		}
	}
}

// A daemon that is never run is closed by Close, twice too.
func TestCloseWithoutRun(t *testing.T) {
	d := newSmall(t)
	if err := errors.Join(d.Close(), d.Close()); err != nil || d.noted() != "last closed, first closed" {
		t.Errorf("%v; %s", err, d.noted())
	}
	if d.dial() == nil {
		t.Error("the service still listens")
	}
	if err := d.Run(t.Context()); err == nil {
		t.Error("it ran after Close")
	}
}

// The status server distinguishes between a daemon that starts and one that is
// ready.
func TestReadiness(t *testing.T) {
	d := newSmall(t)
	get := func() (status int, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.status.Addr()+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	if status, body := get(); status != http.StatusServiceUnavailable || !strings.Contains(body, "starting") {
		t.Errorf("before: %d %s", status, body)
	}
	d.MarkReady()
	d.MarkReady()
	if status, body := get(); status != http.StatusOK {
		t.Errorf("after: %d %s", status, body)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// A failure to open is an error that names what failed, and what was opened before
// can still be closed.
func TestOpeningFails(t *testing.T) {
	d := newSmall(t)
	_, listen := d.Listen(echo, server.Options{Name: "second service", Address: d.address})
	_, status := d.Status(d.address, telemetry.NewMetrics("second"), nil, func(*telemetry.Server) {})
	_, record := d.Record("/dev/null/folder", "small")
	_, tracing := d.Tracing(telemetry.Options{Service: "second", Ratio: 2}, telemetry.NewMetrics("third"))
	for want, err := range map[string]error{"second service": listen, "cannot listen": status, "recording": record, "ratio": tracing} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if s, err := d.Status("", nil, nil, nil); s != nil || err != nil {
		t.Errorf("a status server that is switched off: %v, %v", s, err)
	}
	if r, err := d.Record("", "small"); r != nil || err != nil {
		t.Errorf("a recording that is switched off: %v, %v", r, err)
	}
	if c, err := d.Notices(notice.Access{URL: ""}, "small"); c != nil || err != nil {
		t.Errorf("notices that are switched off: %v, %v", c, err)
	}
	if err := d.Close(); err != nil || !slices.Equal(strings.Split(d.noted(), ", "), []string{"last closed", "first closed"}) {
		t.Errorf("%v; %s", err, d.noted())
	}
}
