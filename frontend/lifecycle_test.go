package frontend_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/config"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/policy/pigeon"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

func TestSettings(t *testing.T) {
	if err := frontend.Default().Validate(); err != nil {
		t.Error(err)
	}
	for key, spoil := range map[string]func(*frontend.Config){
		"id": func(c *frontend.Config) { c.ID = "" }, "cluster": func(c *frontend.Config) { c.Cluster = "" },
		"listen": func(c *frontend.Config) { c.Listen = "x" }, "internal_listen": func(c *frontend.Config) { c.InternalListen = "x" },
		"http": func(c *frontend.Config) { c.HTTP = "x" }, "masters": func(c *frontend.Config) { c.Masters = []string{"x"} },
		"data": func(c *frontend.Config) { c.Data = "" }, "policy": func(c *frontend.Config) { c.Policy = "pigeon:weight" },
		"cutoff": func(c *frontend.Config) { c.Cutoff = 0 }, "default_class": func(c *frontend.Config) { c.DefaultClass = "medium" },
		"max_tasks": func(c *frontend.Config) { c.MaxTasks = 0 }, "retention": func(c *frontend.Config) { c.Retention = 0 },
		"master_lost": func(c *frontend.Config) { c.MasterLost = 0 }, "loss_window": func(c *frontend.Config) { c.LossWindow = -1 }, "trace_ratio": func(c *frontend.Config) { c.TraceRatio = 2 },
		"reserved": func(c *frontend.Config) { c.Reserved = 1 }, "inbox_limit": func(c *frontend.Config) { c.InboxLimit = 0 },
	} {
		c := frontend.Default()
		c.Data = t.TempDir()
		spoil(&c)
		_, err := frontend.New(c, daemontest.Log(t))
		var fault *config.FieldError
		if !errors.As(err, &fault) || fault.Key != key {
			t.Errorf("a spoilt %s gives %v", key, err)
		}
	}
}

// A frontend may be closed without Run, twice, and after Run; it may be run only once; it
// leaves nothing open, including the lock of the journal.
func TestStartAndStop(t *testing.T) {
	w := newWorld(t)
	w.master()
	cfg := w.settings()
	for range 2 {
		f, err := frontend.New(cfg, daemontest.Log(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
		if err := f.Run(t.Context()); err == nil {
			t.Error("a closed frontend runs")
		}
	}
	f := w.runFrontend(cfg)
	if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "make a new one") {
		t.Errorf("a second Run gives %v", err)
	}
	f.process.Stop()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	short, err := frontend.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := short.Run(ended); err != nil {
		t.Errorf("a run that ends before it began: %v", err)
	}
}

// A part that cannot be opened is an error, and the parts opened before it are closed.
func TestCannotStart(t *testing.T) {
	w := newWorld(t)
	w.master()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f := w.frontend()
	for name, set := range map[string]func(*frontend.Config){
		"in use":     func(c *frontend.Config) { c.Listen = taken.Addr().String() },
		"in use ":    func(c *frontend.Config) { c.InternalListen = taken.Addr().String() },
		"in use  ":   func(c *frontend.Config) { c.HTTP = taken.Addr().String() },
		"process":    func(c *frontend.Config) { c.Data = f.cfg.Data }, // held by the frontend that runs
		"dev/null":   func(c *frontend.Config) { c.Data = "/dev/null/x" },
		"recordings": func(c *frontend.Config) { c.Record = "/dev/null/r" },
		"dev/null/h": func(c *frontend.Config) { c.History = "/dev/null/h" },
	} {
		cfg := w.settings()
		set(&cfg)
		if _, err := frontend.New(cfg, daemontest.Log(t)); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("want %q in %v", strings.TrimSpace(name), err)
		}
	}
	cfg := w.settings()
	cfg.NATS = "nats://no port"
	bad, err := frontend.New(cfg, daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := daemontest.Begin(t, bad).End(); err == nil || !strings.Contains(err.Error(), "NATS") {
		t.Errorf("with a wrong NATS URL the frontend ends with %v", err)
	}
}

// NATS and the masters may be absent at the start.
func TestStartWithoutPeers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.nats.Close(); err != nil {
		t.Fatal(err)
	}
	w.masters = []string{"127.0.0.1:1"}
	f := w.frontend()
	w.submit(f, sleeps("job", 1, 0))
	s, err := f.Status(t.Context(), "job")
	if err != nil || s.State != api.StateQueued {
		t.Errorf("%+v, %v", s, err)
	}
}

// A frontend whose journal fails ends with the reason, and acknowledges nothing that is
// not on the disk.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.node(0, 1)
	f, err := frontend.New(w.settings(), daemontest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	p := daemontest.Begin(t, f)
	<-f.Ready()
	if _, _, err := f.Scheduler().Submit(t.Context(), sleeps("job", 1, 100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		s, err := f.Scheduler().Wait(t.Context(), "job", time.Minute)
		if err == nil && s.State.Ended() {
			err = fmt.Errorf("told that %+v", s)
		} else if err != nil {
			err = nil
		}
		waited <- err
	}()
	if err := f.CloseJournal(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Scheduler().Submit(t.Context(), sleeps("other", 1, 0)); err == nil {
		t.Error("a job was accepted without a journal")
	}
	if err := p.End(); err == nil || !strings.Contains(err.Error(), "journal") {
		t.Errorf("the frontend ends with %v", err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// A frontend stops while jobs run, and resumes them.
func TestStopWhileJobsRun(t *testing.T) {
	w := newWorld(t)
	w.master()
	w.node(0, 4)
	f := w.frontend()
	for i := range 20 {
		w.submit(f, sleeps(fmt.Sprint("job-", i), 10, 2*time.Millisecond))
		if i%5 == 4 {
			f = w.restartFrontend(f)
		}
	}
	for i := range 20 {
		w.done(f, fmt.Sprint("job-", i))
	}
}

// A recording can be verified, also that of a frontend that resumed jobs.
func TestVerifyRecording(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.master()
	w.master()
	n := w.node(0, 2)
	w.node(1, 2)
	f := w.frontend(func(c *frontend.Config) { c.Record = t.TempDir() })
	verify := func(least int) {
		t.Helper()
		f.process.Stop()
		file, err := os.Open(filepath.Join(f.cfg.Record, f.cfg.ID+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		steps, err := runloop.VerifyLife(file, func(self sched.Addr, first int32) sched.Core {
			return pigeon.NewDistributor(sched.DistributorConfig{Self: self, Seed: f.cfg.Seed, Params: sched.Params{Cutoff: sched.Time(f.cfg.Cutoff)}, FirstAttempt: first})
		})
		if err != nil || steps < least {
			t.Errorf("%d inputs, want %d or more: %v", steps, least, err)
		}
	}
	for i := range 10 {
		w.submit(f, sleeps(fmt.Sprint("job-", i), 8, 10*time.Millisecond))
	}
	n.process.Stop()
	w.node(0, 2)
	for i := range 5 {
		w.done(f, fmt.Sprint("job-", i))
	}
	w.submit(f, sleeps("held", 3, time.Hour))
	verify(50)
	f = w.runFrontend(f.cfg)
	for i := range 10 {
		w.done(f, fmt.Sprint("job-", i))
	}
	if _, err := f.Cancel(t.Context(), "held"); err != nil {
		t.Error(err)
	}
	verify(5)
}
