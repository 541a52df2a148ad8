package client_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/client"
	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// world is a network of frontends whose processes die, hang and return.
type world struct {
	t  *testing.T
	mu sync.Mutex
	at map[string]*process // by address
}

func newWorld(t *testing.T) *world { return &world{t: t, at: map[string]*process{}} }

// journal is what a frontend has accepted; it outlives the processes.
type journal struct {
	mu   sync.Mutex
	name string
	jobs map[string]int // how often each was accepted as a new job
}

func newJournal(name string) *journal { return &journal{name: name, jobs: map[string]int{}} }

func (j *journal) accept(key string) (duplicate bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.jobs[key] > 0 {
		return true
	}
	j.jobs[key]++
	return false
}

func (j *journal) has(key string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.jobs[key] > 0
}

// process is one process of a frontend. The zero functions do what a frontend does.
type process struct {
	wire.Scheduler // nil: the methods that no test needs

	journal *journal
	shared  bool
	leader  string // of a standby
	standby bool
	submit  func(accept func() (string, bool, error)) (string, bool, error)
	status  func(job string) (api.Status, error)
	hangs   bool // it answers nobody who asks who it is
	old     bool // it does not know the process that tasks share

	pipes *servertest.Pipes
	conns []net.Conn    // guarded by the world's mutex
	gone  chan struct{} // closed when the process ends
	stop  func()
}

// start starts a process at an address.
func (w *world) start(address string, p *process) *process {
	w.t.Helper()
	p.pipes = servertest.NewPipes()
	s, err := server.New(wire.SchedulerProcessor(p), server.Options{Listener: p.pipes, MaxFrame: server.ClientMaxFrame, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	p.gone = make(chan struct{})
	stop := servertest.Run(w.t, s)
	p.stop = sync.OnceFunc(func() {
		w.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		w.mu.Unlock()
		close(p.gone)
		_ = stop() // its calls were cut
	})
	w.t.Cleanup(p.stop)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at[address] = p
	return p
}

// kill ends the process at an address.
func (w *world) kill(address string) {
	w.mu.Lock()
	p := w.at[address]
	delete(w.at, address)
	w.mu.Unlock()
	p.stop()
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	p := w.at[address]
	w.mu.Unlock()
	if p == nil {
		return nil, errors.New("connection refused")
	}
	conn, err := p.pipes.Dial(ctx, network, address)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.conns = append(p.conns, conn)
	}
	return conn, err
}

// lines are the lines that the user was shown.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) say(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

func (w *world) client(addresses ...string) (*client.Client, *lines) {
	w.t.Helper()
	said := &lines{}
	c, err := client.New(client.Options{Addresses: addresses, Timeout: 10 * time.Second, Retry: time.Minute, Say: said.say, Dial: w.dial})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return c, said
}

func (p *process) refuse() error {
	if !p.standby {
		return nil
	}
	return &api.Error{Problem: api.NotReady, What: "it is a standby", Address: p.leader}
}

func (p *process) Identify(context.Context) (api.FrontendIdentity, error) {
	if p.hangs {
		<-p.gone
	}
	return api.FrontendIdentity{Name: p.journal.name, SharedKeys: p.shared, SharedProcess: !p.old}, p.refuse()
}

func (p *process) Submit(_ context.Context, r *api.Request) (string, bool, error) {
	if err := p.refuse(); err != nil {
		return "", false, err
	}
	if r.Frontend != "" && r.Frontend != p.journal.name {
		return "", false, &api.Error{Problem: api.NotFound, What: "for another frontend"}
	}
	accept := func() (string, bool, error) { return r.Key, p.journal.accept(r.Key), nil }
	if p.submit != nil {
		return p.submit(accept)
	}
	return accept()
}

func (p *process) Status(_ context.Context, job string) (api.Status, error) {
	if err := p.refuse(); err != nil {
		return api.Status{}, err
	}
	if p.status != nil {
		return p.status(job)
	}
	if !p.journal.has(job) {
		return api.Status{}, &api.Error{Problem: api.NotFound, What: "no such job"}
	}
	return api.Status{Job: job, State: api.StateCompleted}, nil
}

func (p *process) Wait(ctx context.Context, job string, d time.Duration) (api.Status, error) {
	s, err := p.Status(ctx, job)
	return s, err
}
