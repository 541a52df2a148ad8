package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/listener"
	"github.com/pigeon-sched/pigeon/thrift/frame"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// The code that Thrift generates can check each caller's socket from a goroutine with a
// ticker. Our transport has no socket to check, and a call lasts microseconds, so the
// check would cost more than the call. The interval is a global of the library, set here
// before any goroutine can read it.
func init() { thrift.ServerConnectivityCheckInterval = 0 } //nolint:gochecknoinits // see above

// Server serves one processor on one port. Make it with New.
type Server struct {
	opts      Options // read only after New
	processor thrift.TProcessor
	tls       *tls.Config       // nil for connections in clear
	methods   map[string]string // the processor's, so that the name of one costs no allocation
	budget    *frame.Budget
	conns     *registry
	gate      *logGate
	count     counters
	ready     chan struct{} // closed by Run once the accept loop runs

	mu       sync.Mutex
	listener net.Listener // set by Listen
	running  bool         // Run was called
}

// New returns a server that is not listening yet. processor must be safe for concurrent
// use. An error names the invalid option.
func New(processor thrift.TProcessor, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		opts:      o,
		processor: processor,
		methods:   map[string]string{wire.Authenticate: wire.Authenticate},
		budget:    frame.NewBudget(o.Memory),
		conns:     newRegistry(o.MaxConns, o.MaxConnsPerHost, o.MaxConnsPerCaller),
		gate:      &logGate{log: o.Log.With("service", o.Name)},
		ready:     make(chan struct{}),
		listener:  o.Listener,
	}
	if processor != nil {
		for name := range processor.ProcessorMap() {
			s.methods[name] = name
		}
	}
	if o.Security.Identifier != nil {
		s.tls = o.Security.Identifier.Server()
	}
	return s, nil
}

// Listen opens the port, so that Addr is known before Run; otherwise Run opens it. Calls
// are answered once Run runs. The error is an *api.Error.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	l, err := listener.Listen(s.opts.Address)
	if err != nil {
		return &api.Error{
			Problem: api.Internal,
			What:    fmt.Sprintf("cannot listen on %s: %v", s.opts.Address, err),
			Subject: s.opts.Name,
			Tried:   "opening the port for Thrift",
			Next:    "stop the program that holds the address or choose another one (port 0 takes a free one)",
		}
	}
	s.listener = l
	return nil
}

// Addr returns the address that is listened on, nil before Listen and Ready.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Ready returns a channel that is closed when the server answers calls. It stays open if
// Run fails before.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Close frees the port of a server that was never run; a running server stops with its
// context. Close is safe to call twice and on a new server.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running || s.listener == nil {
		return nil
	}
	err := s.listener.Close()
	s.listener = nil
	return err
}

// Run serves until ctx is done and then returns nil, or until the listener ends
// by itself, which is an error. It may be called once. When it returns no
// goroutine of the server is left; the exception is an error that names how
// many handlers ignored the end of their context.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return fmt.Errorf("%s: Run was called twice", s.opts.Name)
	}
	s.running = true
	l := s.listener
	s.mu.Unlock()

	calls, cancelCalls := context.WithCancel(context.WithoutCancel(ctx))
	var all, watching sync.WaitGroup
	watching.Go(func() { s.watchCallers(calls) })
	defer watching.Wait()
	defer cancelCalls()
	closeOnDone := context.AfterFunc(ctx, func() { _ = l.Close() })
	close(s.ready)
	acceptErr := s.accept(ctx, calls, l, &all)
	closeOnDone()
	_ = l.Close()
	stopErr := s.stop(cancelCalls, &all)
	if acceptErr != nil {
		return acceptErr
	}
	return stopErr
}

// stop ends every connection: idle ones at once, calls after StopTimeout.
func (s *Server) stop(cancelCalls context.CancelFunc, all *sync.WaitGroup) error {
	s.conns.each((*conn).finish)
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	if waitFor(done, s.opts.StopTimeout) {
		return nil
	}
	s.conns.each((*conn).abort) // first: whether a cancelled call is answered must not depend on timing
	cancelCalls()
	if waitFor(done, s.opts.StopTimeout) {
		return nil
	}
	return fmt.Errorf("%s: %d calls still run %v after their context ended",
		s.opts.Name, s.conns.open(), s.opts.StopTimeout)
}

// waitFor reports whether done was closed within d.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
