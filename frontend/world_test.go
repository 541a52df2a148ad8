package frontend_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/frontend"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemontest"
	"github.com/pigeon-sched/pigeon/internal/daemontest/ports"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/master"
	"github.com/pigeon-sched/pigeon/nodemonitor"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// world is a cluster in this process, on free ports, to which a test adds daemons.
type world struct {
	t       testing.TB
	nats    *notice.Embedded // nil: none
	natsURL string           // of servers that nats is not one of
	otlp    string
	masters []string              // addresses, by group
	running []*daemontest.Process // nodes and masters, nodes before their masters
	number  int32                 // among the worlds; 0: no frontend is named
}

func newWorld(t testing.TB) *world { return &world{t: t, nats: daemontest.NATS(t)} }

// worlds counts the worlds that have named a frontend.
var worlds atomic.Int32

// frontendID returns the id of a frontend of this world. No other world has it: a node of
// another test may still report to a frontend that served at the same address before.
func (w *world) frontendID(i int) string {
	if w.number == 0 {
		w.number = worlds.Add(1)
	}
	return fmt.Sprintf("frontend-%d-of-%d", i, w.number)
}

func (w *world) url() string {
	if w.nats == nil {
		return w.natsURL
	}
	return w.nats.URL()
}

// masterOf is a master that runs.
type masterOf struct {
	*master.Master
	cfg     master.Config
	process *daemontest.Process
}

// master starts the master of the next group.
func (w *world) master(change ...func(*master.Config)) *masterOf {
	w.t.Helper()
	cfg := master.Default()
	cfg.Policy = "pigeon"
	cfg.Group, cfg.Listen, cfg.NATS, cfg.OTLP, cfg.HTTP = len(w.masters), ports.Address(w.t), w.url(), w.otlp, ""
	for _, c := range change {
		c(&cfg)
	}
	m := w.runMaster(cfg)
	w.masters = append(w.masters, m.Addr())
	return m
}

func (w *world) runMaster(cfg master.Config) *masterOf {
	w.t.Helper()
	m, err := master.New(cfg, daemontest.Log(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Listen = m.Addr()
	p := daemontest.Run(w.t, m)
	w.running = append(w.running, p)
	return &masterOf{m, cfg, p}
}

// restart restarts a master at its address.
func (w *world) restart(m *masterOf) *masterOf {
	w.t.Helper()
	m.process.Stop()
	return w.runMaster(m.cfg)
}

// state returns a master's figures.
func (m *masterOf) state(t testing.TB) api.MasterState {
	t.Helper()
	s, err := m.MasterState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nodeOf is a node monitor that runs.
type nodeOf struct {
	*nodemonitor.NodeMonitor
	process *daemontest.Process
}

// node starts a node monitor of the group with that many slots.
func (w *world) node(group, slots int, change ...func(*nodemonitor.Config)) *nodeOf {
	w.t.Helper()
	cfg := nodemonitor.Default()
	cfg.Policy = "pigeon"
	cfg.ID, cfg.Group, cfg.Slots, cfg.Master = fmt.Sprintf("n-%d-%d", group, time.Now().UnixNano()), group, slots, w.masters[group]
	cfg.Listen, cfg.HTTP, cfg.NATS, cfg.OTLP, cfg.WorkDir = "127.0.0.1:0", "", w.url(), w.otlp, w.t.TempDir()
	cfg.Heartbeat = 200 * time.Millisecond
	for _, c := range change {
		c(&cfg)
	}
	n, err := nodemonitor.New(cfg, nodemonitor.Deps{Log: daemontest.Log(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	p := daemontest.Run(w.t, n)
	w.running = append([]*daemontest.Process{p}, w.running...)
	return &nodeOf{n, p}
}

// frontOf is a frontend that runs.
type frontOf struct {
	*frontend.Frontend
	wire.Scheduler
	cfg     frontend.Config
	process *daemontest.Process
}

// List returns a page of all jobs.
func (f *frontOf) List(ctx context.Context, limit int, after string) ([]api.Status, error) {
	return f.Query(ctx, limit, after, api.JobFilter{})
}

// settings are those of a frontend of this world.
func (w *world) settings() frontend.Config {
	cfg, free := frontend.Default(), ports.Addresses(w.t, 2)
	cfg.Policy = "pigeon"
	cfg.Listen, cfg.InternalListen, cfg.HTTP, cfg.NATS, cfg.OTLP = free[0], free[1], "", w.url(), w.otlp
	cfg.ID, cfg.Masters, cfg.Data = w.frontendID(0), w.masters, w.t.TempDir()
	return cfg
}

func (w *world) frontend(change ...func(*frontend.Config)) *frontOf {
	w.t.Helper()
	cfg := w.settings()
	for _, c := range change {
		c(&cfg)
	}
	return w.runFrontend(cfg)
}

func (w *world) runFrontend(cfg frontend.Config) *frontOf {
	w.t.Helper()
	f, err := frontend.New(cfg, daemontest.Log(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Listen, cfg.InternalListen = f.Addr(), f.InternalAddr()
	return &frontOf{f, f.Scheduler(), cfg, daemontest.Run(w.t, f)}
}

// restartFrontend restarts a frontend with its data, at its addresses.
func (w *world) restartFrontend(f *frontOf) *frontOf {
	w.t.Helper()
	f.process.Stop()
	return w.runFrontend(f.cfg)
}

// sleeps is a job of that many sleeping tasks.
func sleeps(key string, tasks int, d time.Duration) *api.Request {
	r := &api.Request{App: "app", Key: key, Backend: api.BackendSleep, Tasks: make([]api.Task, tasks)}
	for i := range r.Tasks {
		r.Tasks[i].Payload = api.Payload{Backend: api.BackendSleep, Sleep: d}
	}
	return r
}

// script is a job of one shell script, which receives a folder as $1.
func script(key, text, folder string) *api.Request {
	run := &api.Exec{Argv: []string{"sh", "-c", text, "sh", folder}}
	return &api.Request{App: "app", Key: key, Backend: api.BackendExec, Tasks: []api.Task{{Payload: api.Payload{Backend: api.BackendExec, Exec: run}}}}
}

// gated is a job of tasks that wait until the gate is opened, and then each leave a file in a
// folder: a machine that is slow to accept the next job does not find the earlier ones ended.
func gated(key string, tasks int, gate, folder string) *api.Request {
	r := script(key, "while ! [ -e "+gate+" ]; do sleep 0.01; done; mktemp $1/XXXXXX", folder)
	r.Tasks = slices.Repeat(r.Tasks, tasks)
	return r
}

// newGate returns a gate, which is closed.
func newGate(t *testing.T) string { return filepath.Join(t.TempDir(), "gate") }

// open opens the gate of jobs.
func open(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitFiles waits until a folder has n files.
func (w *world) awaitFiles(folder string, n int) {
	w.t.Helper()
	daemontest.Await(w.t, fmt.Sprint("files: ", n), func() bool {
		list, err := os.ReadDir(folder)
		if err != nil {
			w.t.Fatal(err)
		}
		return len(list) >= n
	})
}

func (w *world) submit(f *frontOf, r *api.Request) string {
	w.t.Helper()
	id, _, err := f.Submit(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// done waits for the end of a job, which must be that all its tasks completed.
func (w *world) done(f *frontOf, id string) api.Status {
	w.t.Helper()
	s, err := f.Wait(w.t.Context(), id, 30*time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	if s.State != api.StateCompleted || s.Completed != s.Tasks || s.Failed != 0 {
		w.t.Fatalf("job %s: %+v", id, s)
	}
	return s
}

// peer calls a daemon's internal service.
func (w *world) peer(address string) *wire.PeerClient {
	return daemontest.Dial(w.t, address, daemontest.Codec())
}
