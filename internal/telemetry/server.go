package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pigeon-sched/pigeon/internal/listener"
)

// Bounds of the status server: scrapes, browsers and a probe at once. reserved is how many
// connections are left for /healthz and /readyz while requests are answered on all others.
const (
	maxConnections = 160
	maxOfAddress   = 32 // not on loopback, where all callers have one address
	reserved       = 16
	maxHeaderBytes = 16 << 10
	headerTimeout  = 5 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = time.Minute
	stopTimeout    = 2 * time.Second
)

// ServerOptions of [NewServer].
type ServerOptions struct {
	Addr     string              // host:port; "" is a free port on 127.0.0.1
	Gatherer prometheus.Gatherer // of /metrics; nil leaves it out
	Ready    func() error        // of /readyz; its text is the answer; nil means always ready
	Security Security            // who may see what, except /healthz and /readyz
	Logger   *slog.Logger        // nil discards
}

// Server serves /metrics, /healthz (the process lives), /readyz (it can serve)
// and the handlers added by Handle.
//
//	new --Start--> serving --Stop--> stopped
//	 \______________Stop____________/
//
// Start works once. Stop blocks until the serving goroutine has ended; calling it
// twice, at once from two goroutines, or without Start is safe.
type Server struct {
	addr    string
	opts    ServerOptions
	mux     *http.ServeMux
	guarded *http.ServeMux // pages that only some may see
	http    *http.Server
	log     *slog.Logger
	scheme  string // http, or https where it has TLS

	mu       sync.Mutex
	listener net.Listener  // nil until Start
	stopped  bool          // Stop was called
	served   chan struct{} // closed when the serving goroutine has ended
}

// NewServer returns a server that does not listen yet.
func NewServer(o ServerOptions) *Server {
	s := &Server{addr: o.Addr, opts: o, mux: http.NewServeMux(), guarded: http.NewServeMux(), log: o.Logger, served: make(chan struct{}), scheme: "http"}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.http = &http.Server{
		Handler:           busy(s.mux),
		ConnContext:       withConnection,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { nameProcess(w, r); writeText(w, http.StatusOK, "ok") })
	s.mux.Handle("GET /readyz", readiness(o.Ready))
	if o.Gatherer != nil {
		s.guarded.Handle("GET /metrics", promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
			MaxRequestsInFlight: 4, Timeout: requestTimeout / 2,
			EnableOpenMetrics: true, // exemplars exist in that format only
		}))
	}
	s.mux.Handle("/", s.guard(s.guarded))
	return s
}

// Handle adds a handler under a pattern of http.ServeMux ("GET /status"),
// before Start. It panics on a pattern registered before. The context of a request has the
// principal of its caller.
func (s *Server) Handle(pattern string, h http.Handler) { s.guarded.Handle(pattern, h) }

// OnStop registers a function that is called in its own goroutine when Stop begins, so that
// streams end, for which Stop would wait.
func (s *Server) OnStop(end func()) { s.http.RegisterOnShutdown(end) }

// Start listens and serves in the background; the error names the address.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.listener != nil {
		return errors.New("status server was started or stopped before; create a new one")
	}
	l, err := listener.Listen(s.addr)
	if err != nil {
		return fmt.Errorf("status server cannot listen on %s: %w; set another address, or stop the process that uses this one (ss -ltnp shows it)", s.addr, err)
	}
	s.listener = l
	served := net.Listener(limit(l, maxConnections, maxOfAddress))
	if config := s.tls(l.Addr()); config != nil {
		config = config.Clone()
		config.NextProtos = []string{"http/1.1"}
		served, s.scheme = tls.NewListener(served, config), "https"
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(served); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("status server ended; metrics and status are not served until the daemon is restarted", "address", s.addr, "error", err)
		}
	}()
	return nil
}

// tls returns the settings of TLS at an address, nil for none. On loopback the kernel
// identifies callers, and supervisors ask for /healthz there without certificates.
func (s *Server) tls(at net.Addr) *tls.Config {
	a, ok := at.(*net.TCPAddr)
	if s.opts.Security.Identifier == nil || ok && a.IP.IsLoopback() {
		return nil
	}
	return s.opts.Security.Identifier.Server()
}

// URL returns where the server is reached, scheme://host:port; "" before Start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.scheme + "://" + s.listener.Addr().String()
}

// Addr returns the address the server listens on, "" before Start.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Stop waits up to two seconds for requests to end, then closes their connections.
func (s *Server) Stop() {
	s.mu.Lock()
	s.stopped = true
	started := s.listener != nil
	s.mu.Unlock()
	if !started {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("status server closes connections that did not end in time", "address", s.addr, "error", err, "close", s.http.Close())
	}
	<-s.served
}

func readiness(ready func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nameProcess(w, r)
		if ready != nil {
			if err := ready(); err != nil {
				writeText(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
				return
			}
		}
		writeText(w, http.StatusOK, "ready")
	})
}

// ProcessHeader is the header of /healthz and /readyz with the number of the process that answers.
const ProcessHeader = "Pigeon-Process"

// nameProcess tells callers of this machine which process answers.
func nameProcess(w http.ResponseWriter, r *http.Request) {
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && from.Addr().Unmap().IsLoopback() {
		w.Header().Set(ProcessHeader, strconv.Itoa(os.Getpid()))
	}
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have hung up
}
