package frontend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/natsserver"
	"github.com/pigeon-sched/pigeon/internal/natsserver/natsservertest"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// shared is a world whose frontends have replicated journals, on one NATS server.
type shared struct {
	*world
	servers string
}

func newShared(t testing.TB) *shared {
	c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.MaxStore = 512 << 20 })
	w := &shared{&world{t: t, natsURL: c.URL()}, c.URL()}
	return w
}

// replicated are the settings of a frontend that is a candidate for the name "f".
func (w *shared) replicated(c *frontend.Config) {
	c.ID, c.Journal, c.JournalBytes, c.Leadership, c.NATSReplicas = "f", "replicated", 64<<20, daemon.JetStreamLeadership, 1
}

// begin starts a candidate and does not wait for it.
func (w *shared) begin(change ...func(*frontend.Config)) *frontOf {
	w.t.Helper()
	cfg := w.settings()
	w.replicated(&cfg)
	for _, c := range change {
		c(&cfg)
	}
	f, err := frontend.New(cfg, daemontest.Log(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Listen, cfg.InternalListen = f.Addr(), f.InternalAddr()
	p := daemontest.Begin(w.t, f)
	pool, err := client.New(client.Options{Name: "frontend", Address: f.Addr(), MaxConns: 64})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = pool.Close() })
	return &frontOf{f, wire.NewSchedulerClient(pool), cfg, p}
}

// leads waits until a frontend answers as the leader.
func (w *shared) leads(f *frontOf) *frontOf {
	w.t.Helper()
	daemontest.Await(w.t, "the frontend leads", func() bool {
		_, err := f.List(w.t.Context(), 1, "")
		return err == nil
	})
	return f
}

// standsBy waits until a frontend refuses calls and names another that leads.
func (w *shared) standsBy(f, leader *frontOf) {
	w.t.Helper()
	daemontest.Await(w.t, "the standby names the leader", func() bool {
		_, err := f.List(w.t.Context(), 1, "")
		e, ok := errors.AsType[*api.Error](err)
		return ok && e.Problem == api.NotReady && e.Address == leader.Addr()
	})
}

// A frontend that starts while its server starts again waits for it, whenever that happens.
func TestAServerThatStartsAgainBeforeTheFrontendIsACandidate(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.MaxStore = 512 << 20 })
	w := &shared{&world{t: t, natsURL: c.URL(), masters: []string{"127.0.0.1:1"}}, c.URL()}
	cfg := w.settings()
	w.replicated(&cfg)
	f, err := frontend.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.AwaitName(t.Context(), func() { c.Stop(0) }) }()
	daemontest.Await(t, "the frontend is a candidate", func() bool { return f.Awaits() || len(ended) > 0 })
	c.Start(0)
	if err := errors.Join(<-ended, f.Close()); err != nil {
		t.Error(err)
	}
}

// A standby that never led logs no lapse of a name that it did not have, when it stops without servers.
func TestAStandbyHasNoNameThatLapses(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.MaxStore = 512 << 20 })
	w := &shared{&world{t: t, natsURL: c.URL(), masters: []string{"127.0.0.1:1"}}, c.URL()}
	cfg := w.settings()
	w.replicated(&cfg)
	var log bytes.Buffer // written by one handler, which locks
	f, err := frontend.New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.AwaitName(ctx, func() { c.Stop(0) }) }()
	daemontest.Await(t, "the frontend is a candidate", func() bool { return f.Awaits() || len(ended) > 0 })
	stop()
	if err := errors.Join(<-ended, f.Close()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "lapses") {
		t.Errorf("the log is %s", log.String())
	}
}

// A frontend that is stopped while it takes over ends, also when its servers do not answer any more.
func TestATakeoverWithoutServersIsStopped(t *testing.T) {
	t.Parallel()
	c := natsservertest.Start(t, 1, func(o *natsserver.Options) { o.MaxStore = 512 << 20 })
	w := &shared{&world{t: t, natsURL: c.URL(), masters: []string{"127.0.0.1:1"}}, c.URL()}
	cfg := w.settings()
	w.replicated(&cfg)
	cfg.Leadership = daemon.NoLeadership
	f, err := frontend.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.TakeOver(ctx, func() { c.Stop(0); stop() }) }()
	select {
	case err := <-ended:
		if err := errors.Join(err, f.Close()); err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits for the servers")
		c.Start(0)
		t.Log(<-ended)
	}
}

// A frontend that stops in order hands its jobs to its standby at once: what runs goes on, what
// waits is started, nothing is started twice, and keys are known there.
func TestStandbyTakesOverFromOneThatStops(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	steady := func(c *frontend.Config) { c.LeaderTTL = 20 * time.Second } // no leadership is to lapse
	m := w.master()
	w.node(0, 4)
	first := w.leads(w.begin(steady))
	second := w.begin(steady)
	w.standsBy(second, first)
	out, gate := t.TempDir(), newGate(t)
	for i := range 8 {
		w.submit(first, gated(fmt.Sprint("job-", i), 1, gate, out))
	}
	daemontest.Await(t, "some run and some wait", func() bool { s := m.state(t); return s.Launches >= 4 && s.QueuedShort >= 1 })
	open(t, gate)
	first.process.Stop()
	w.leads(second)
	if e := awaitEvent(t, second, api.EventFrontendLeads, ""); e.Severity != api.SeverityWarning || !strings.Contains(e.Message, second.Addr()) {
		t.Errorf("%+v", e)
	}
	for i := range 8 {
		if s := w.done(second, fmt.Sprint("job-", i)); s.Attempts != 1 {
			t.Errorf("job %d had %d attempts", i, s.Attempts)
		}
	}
	w.awaitFiles(out, 8)
	if l := m.state(t).Launches; l != 8 {
		t.Errorf("%d launches of 8 tasks", l)
	}
	if _, duplicate, err := second.Submit(t.Context(), gated("job-3", 1, gate, out)); err != nil || !duplicate {
		t.Errorf("a key again at the standby: duplicate %v, %v", duplicate, err)
	}
	third := w.begin(steady, func(c *frontend.Config) { c.Data = first.cfg.Data }) // the first, started again
	w.standsBy(third, second)
	second.process.Stop()
	w.leads(third)
	w.done(third, w.submit(third, sleeps("last", 3, 0)))
}

// Two frontends on two machines that both have the default address, say: the second one says so to those who
// call it, and leads when the first has ended.
func TestTwoFrontendsOfOneAddress(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	w.masters = []string{"127.0.0.1:1"}
	named := func(c *frontend.Config) { c.Advertise = "localhost" }
	first := w.leads(w.begin(named))
	_, port, err := net.SplitHostPort(first.Addr())
	if err != nil {
		t.Fatal(err)
	}
	second := w.begin(named, func(c *frontend.Config) { c.Listen = net.JoinHostPort("127.0.0.2", port) })
	reached, err := client.New(client.Options{Name: "frontend", Address: net.JoinHostPort("127.0.0.2", port)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reached.Close() })
	var refusal error
	daemontest.Await(t, "the second frontend says that another leads at its address", func() bool {
		_, refusal = wire.NewSchedulerClient(reached).List(t.Context(), 1, "")
		return refusal != nil && strings.Contains(refusal.Error(), "another process leads this frontend at the address of this one, localhost:"+port)
	})
	if !strings.Contains(refusal.Error(), "an address of its own") {
		t.Errorf("what is to be done is missing: %v", refusal)
	}
	first.process.Stop()
	w.leads(&frontOf{second.Frontend, wire.NewSchedulerClient(reached), second.cfg, second.process})
}

// A standby may lead while the former leader, which serves nobody any more, still closes its
// journal on a slow disk. That is an orderly stop.
func TestStandbyTakesOverWhileTheFormerLeaderStops(t *testing.T) {
	t.Setenv("PIGEON_CHAOS", "1")
	w := newShared(t)
	w.master()
	w.node(0, 4)
	first := w.leads(w.begin(func(c *frontend.Config) { c.LeaderTTL, c.JournalFaults = 20*time.Second, "slow=100ms" }))
	second := w.begin()
	w.standsBy(second, first)
	w.done(first, w.submit(first, sleeps("before", 1, 0)))
	first.process.Stop() // it fails the test unless the daemon ends without an error
	w.leads(second)
	w.done(second, "before")
	w.done(second, w.submit(second, sleeps("after", 1, 0)))
}

// A frontend that is cut off from NATS stops leading before its standby leads, ends with the
// reason, and acknowledges nothing meanwhile; its jobs go on.
func TestStandbyTakesOverFromOneThatIsCutOff(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	m := w.master()
	w.node(0, 2)
	cut := newProxy(t, strings.TrimPrefix(w.servers, "nats://"))
	first := w.leads(w.begin(func(c *frontend.Config) { c.NATS = "nats://" + cut.address() }))
	second := w.begin()
	w.standsBy(second, first)
	out, gate := t.TempDir(), newGate(t)
	for i := range 6 {
		w.submit(first, gated(fmt.Sprint("job-", i), 1, gate, out))
	}
	daemontest.Await(t, "some run and some wait", func() bool { s := m.state(t); return s.Launches >= 2 && s.QueuedShort >= 1 })
	cut.pause()
	open(t, gate)
	late := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := first.Submit(ctx, sleeps("late", 1, 0))
		late <- err
	}()
	err := first.process.End()
	if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(e.What, "does not lead any more") {
		t.Errorf("the former leader ended with %v", err)
	}
	if err := <-late; err == nil {
		t.Error("a frontend that was cut off from its journal accepted a job")
	}
	w.leads(second)
	for i := range 6 {
		w.done(second, fmt.Sprint("job-", i))
	}
	w.awaitFiles(out, 6)
	if l := m.state(t).Launches; l != 6 {
		t.Errorf("%d launches of 6 tasks", l)
	}
	w.done(second, w.submit(second, sleeps("late", 1, 0)))
}

// What was counted of the short tasks of owners is read by a process that leads again from its
// folder. A standby with another folder has it from nowhere, and believes what is declared.
func TestOverrunsAfterATakeover(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	steady := func(c *frontend.Config) { c.LeaderTTL = 20 * time.Second } // no leadership is to lapse
	w.master()
	first := w.leads(w.begin(steady))
	short := func(name string, tasks int) *api.Request {
		r := work(name, tasks)
		r.Class = "short"
		return r
	}
	w.ran(first, short("liar", 20), 3*time.Second)
	first.process.Stop()
	first = w.leads(w.begin(steady, func(c *frontend.Config) { c.Data = first.cfg.Data }))
	if c, why := w.reason(first, short("next", 1)); c != "long" || !strings.Contains(why, "40 of 60 short slot-seconds") {
		t.Errorf("in its folder: %s, %s", c, why)
	}
	second := w.begin(steady)
	w.standsBy(second, first)
	first.process.Stop()
	w.leads(second)
	if c, why := w.reason(second, short("last", 1)); c != "short" {
		t.Errorf("in another folder: %s, %s", c, why)
	}
}

// proxy passes connections on to a server until it is paused; then nothing passes, and nothing is
// closed.
type proxy struct {
	t  *testing.T
	l  net.Listener
	to string

	mu     sync.Mutex
	paused chan struct{} // closed when paused
	all    []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, l: l, to: to, paused: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.all = append(p.all, in, out)
			p.mu.Unlock()
			running.Go(func() { p.copy(in, out) })
			running.Go(func() { p.copy(out, in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.all {
			_ = c.Close()
		}
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.l.Addr().String() }

func (p *proxy) pause() { close(p.paused) }

func (p *proxy) copy(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		select {
		case <-p.paused:
			_, _ = io.Copy(io.Discard, from) // until it is closed
			return
		default:
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				break
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
