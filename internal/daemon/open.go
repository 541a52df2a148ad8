package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/runloop"
	"github.com/pigeon-sched/pigeon/internal/telemetry"
	"github.com/pigeon-sched/pigeon/thrift/server"
)

// exportTimeout bounds how long a daemon that stops waits for its last spans to
// be exported.
const exportTimeout = 2 * time.Second

// Listen opens a Thrift service. Its address is known at once; calls are served while Run
// runs. Callers are identified by what Secure opened, unless the options say how.
func (l *Lifecycle) Listen(p thrift.TProcessor, o server.Options) (*server.Server, error) {
	o.Log = l.log
	if o.Security.Identifier == nil && l.credentials != nil {
		o.Security.Identifier = l.credentials
	}
	if l.audit != nil {
		o.Security.Decided = l.decidedCall
	}
	s, err := server.New(p, o)
	if err != nil {
		return nil, err
	}
	if err := s.Listen(); err != nil {
		return nil, err
	}
	l.OnClose(s.Close)
	l.opening.Lock()
	defer l.opening.Unlock()
	l.servers = append(l.servers, s)
	return s, nil
}

// Status opens the HTTP server of /metrics, /healthz, /readyz and what handle adds.
// ready returns why the daemon cannot serve others at the moment; without it the daemon
// is ready once MarkReady was called. Without an address there is no server, and the
// result is nil.
func (l *Lifecycle) Status(address string, m *telemetry.Metrics, ready func() error, handle func(*telemetry.Server)) (*telemetry.Server, error) {
	if address == "" {
		return nil, nil
	}
	if ready == nil {
		ready = l.readiness
	}
	s := telemetry.NewServer(telemetry.ServerOptions{Addr: address, Gatherer: m.Registry, Ready: ready, Security: l.webSecurity(), Logger: l.log})
	handle(s)
	if err := s.Start(); err != nil {
		return nil, err
	}
	l.OnClose(func() error { s.Stop(); return nil })
	return s, nil
}

func (l *Lifecycle) readiness() error {
	select {
	case <-l.ready:
		return nil
	default:
		return errors.New("starting")
	}
}

// Tracing sets up tracing and exports its counts among the metrics.
func (l *Lifecycle) Tracing(o telemetry.Options, m *telemetry.Metrics) (*telemetry.Tracing, error) {
	o.Logger = l.log
	t, err := telemetry.Setup(context.Background(), o)
	if err != nil {
		return nil, err
	}
	l.OnClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
		defer cancel()
		if err := t.Shutdown(ctx); err != nil { // the receiver of spans is no part of this daemon
			l.log.Warn("the last spans were not exported; scheduling is not affected. Check the address of the OTLP receiver", "error", err)
		}
		return nil
	})
	m.WatchTracing(t)
	return t, nil
}

// Record opens the recording of the daemon's cores, <folder>/<name>.jsonl. Without
// a folder there is none, and the result is nil.
func (l *Lifecycle) Record(folder, name string) (*runloop.Recorder, error) {
	if folder == "" {
		return nil, nil
	}
	r, end, err := runloop.RecordTo(folder, name)
	if err != nil {
		return nil, err
	}
	l.OnClose(end)
	return r, nil
}

// Notices begins to connect to the NATS servers. Without a URL the result is nil.
func (l *Lifecycle) Notices(servers notice.Access, name string) (*notice.Conn, error) {
	if servers.URL == "" {
		return nil, nil
	}
	c, err := notice.Connect(notice.Options{Access: servers, Name: name, Log: l.log})
	if err != nil {
		return nil, err
	}
	l.OnClose(c.Close)
	return c, nil
}
