package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/server"
	"github.com/pigeon-sched/pigeon/thrift/server/servertest"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// fakeFrontend is a frontend whose answers a test chooses, and that can die.
type fakeFrontend struct {
	wire.Scheduler // nil: the methods that no test needs

	address  string
	state    api.State     // of every job
	released chan struct{} // closed at the end of the test

	identify func() // nil: nothing else happens
	submit   func(f *fakeFrontend, key string)
	cancel   func(f *fakeFrontend) (api.Status, error)
	files    func(f *fakeFrontend, task int) error  // called before the files of a task are listed
	log      func(r *wire.LogRequest) wire.LogChunk // answers in the place of the files of a task; nil: those are listed
	history  func(q *api.HistoryQuery) api.HistoryPage
	refuse   error        // the answer to questions about jobs; nil: they are shown
	nodes    atomic.Int32 // how many times the nodes were asked for

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

// startFake serves the frontend until the test ends.
func startFake(t *testing.T, f *fakeFrontend) *fakeFrontend {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.listener, f.address, f.released = l, l.Addr().String(), make(chan struct{})
	s, err := server.New(wire.SchedulerProcessor(f), server.Options{Listener: fakeListener{l, f}, Security: servertest.Anybody(), MaxFrame: server.ClientMaxFrame, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	stop := servertest.Run(t, s)
	t.Cleanup(func() {
		close(f.released)
		_ = stop() // its listener may be closed
	})
	return f
}

// die ends all connections, and refuses new ones.
func (f *fakeFrontend) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.listener.Close()
	for _, c := range f.conns {
		_ = c.Close()
	}
}

// fakeListener remembers the connections of a frontend.
type fakeListener struct {
	net.Listener
	of *fakeFrontend
}

// Accept implements net.Listener.
func (l fakeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.of.mu.Lock()
		defer l.of.mu.Unlock()
		l.of.conns = append(l.of.conns, c)
	}
	return c, err
}

func (f *fakeFrontend) Identify(context.Context) (api.FrontendIdentity, error) {
	if f.identify != nil {
		f.identify()
	}
	return api.FrontendIdentity{Name: f.address}, nil
}

func (f *fakeFrontend) Submit(_ context.Context, r *api.Request) (string, bool, error) {
	if f.submit != nil {
		f.submit(f, r.Key)
	}
	return r.Key, false, nil
}

func (f *fakeFrontend) Cancel(context.Context, string) (api.Status, error) { return f.cancel(f) }

func (f *fakeFrontend) Status(_ context.Context, job string) (api.Status, error) {
	return api.Status{Job: job, State: f.state, Tasks: 3}, f.refuse
}

func (f *fakeFrontend) Query(context.Context, int, string, api.JobFilter) ([]api.Status, error) {
	return []api.Status{{Job: "k", State: f.state, Tasks: 3}}, f.refuse
}

func (f *fakeFrontend) Nodes(context.Context) ([]api.MasterState, error) {
	f.nodes.Add(1)
	return []api.MasterState{{Nodes: []api.Node{{ID: "n", Apps: []string{"etl"}}}}}, nil
}

func (f *fakeFrontend) Wait(ctx context.Context, job string, _ time.Duration) (api.Status, error) {
	return f.Status(ctx, job)
}

func (f *fakeFrontend) History(_ context.Context, q api.HistoryQuery) (api.HistoryPage, error) {
	return f.history(&q), nil
}

// TaskLog has one file of each task, whose text is the task's number.
func (f *fakeFrontend) TaskLog(_ context.Context, r wire.LogRequest) (c wire.LogChunk, err error) {
	if f.log != nil {
		return f.log(&r), nil
	}
	text := []byte(fmt.Sprint(r.Task))
	if r.Stream == wire.FileList {
		if r.Offset == 0 {
			if err := f.files(f, r.Task); err != nil {
				return c, err
			}
		}
		if text, err = json.Marshal(api.TaskFile{Path: "file", Size: 1}); err != nil {
			return c, err
		}
	}
	return wire.LogChunk{Data: text[min(int(r.Offset), len(text)):], Size: int64(len(text)), Ended: true}, nil
}
