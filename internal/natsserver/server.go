package natsserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pigeon-sched/pigeon/internal/credentials"
	"github.com/pigeon-sched/pigeon/internal/daemon"
)

// startTimeout bounds the start: with JetStream the stored data is read and verified.
const startTimeout = 30 * time.Second

// startPoll is the time between two looks whether a start has failed.
const startPoll = 100 * time.Millisecond

// Server is a NATS server inside this process.
type Server struct {
	server *server.Server
	opts   *server.Options
	watch  []func() // each ends a watch of certificates
}

// Start starts a server and returns when it serves clients. The error is an *api.Error.
func Start(o Options) (*Server, error) {
	folder := o.TLS
	o = o.inFolder()
	if folder != "" {
		if err := credentials.Missing(o.CA, o.Cert, o.Key); err != nil {
			return nil, startError(o.Listen, err)
		}
	}
	opts, err := o.serverOptions()
	if err != nil {
		return nil, startError(o.Listen, err)
	}
	admits, err := o.admit(opts)
	if err != nil {
		return nil, startError(o.Listen, err)
	}
	setElection(cmp.Or(o.Election, DefaultElection))
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, startError(o.Listen, err)
	}
	if admits != nil {
		admits.server.Store(s)
	}
	log := &logger{log: o.Log}
	s.SetLogger(log, false, false)
	go s.Start()
	if err := awaitStart(s, opts, log); err != nil {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, startError(o.Listen, err)
	}
	n := &Server{server: s, opts: opts, watch: []func(){admits.watch(), o.watchCertificate()}}
	o.warnOfSpace(opts)
	if err := n.answerSettings(); err != nil {
		_ = n.Close()
		return nil, startError(o.Listen, err)
	}
	return n, nil
}

// awaitStart returns when a server serves clients, or why it does not: after a fatal error at once,
// since the library leaves it to its logger to end the process, and starts nothing more.
func awaitStart(s *server.Server, opts *server.Options, log *logger) error {
	for end := time.Now().Add(startTimeout); !s.ReadyForConnections(startPoll); {
		switch {
		case log.fatal.Load() && opts.JetStream:
			return fmt.Errorf("it cannot start with store_dir %s%s", opts.StoreDir, log.why())
		case log.fatal.Load():
			return errors.New("it cannot start" + log.why())
		case time.Now().After(end):
			return fmt.Errorf("not ready after %v%s", startTimeout, log.why())
		}
	}
	return nil
}

// warnOfSpace warns of a limit that the disk does not have: a full disk ends JetStream on the
// server, where a full limit only refuses writes.
func (o Options) warnOfSpace(opts *server.Options) {
	var disk syscall.Statfs_t
	if !o.JetStream || o.Log == nil || syscall.Statfs(opts.StoreDir, &disk) != nil {
		return
	}
	if free := int64(disk.Bavail) * int64(disk.Bsize); free < opts.JetStreamMaxStore { //nolint:gosec,unconvert // counts of blocks; the types differ between systems
		o.Log.Warn("the disk of store_dir has less space left than max_store; a full disk ends JetStream on this server", "store_dir", opts.StoreDir, "free", free, "max_store", opts.JetStreamMaxStore)
	}
}

// settingsSubject is where the system account has the servers of a cluster describe their
// JetStream settings.
const settingsSubject = "$SYS.REQ.SERVER.PING.JSZ"

// answerSettings lets clients of all accounts ask the servers for their JetStream settings,
// which only the system account may otherwise: daemons check sync_interval there.
func (n *Server) answerSettings() error {
	sys := n.server.SystemAccount()
	if sys == nil {
		return nil
	}
	if err := sys.AddServiceExportWithResponse(settingsSubject, server.Streamed, nil); err != nil {
		return err
	}
	accounts := append([]*server.Account{n.server.GlobalAccount()}, n.opts.Accounts...)
	for _, a := range accounts {
		if a == nil || a.GetName() == sys.GetName() {
			continue
		}
		if err := a.AddServiceImport(sys, settingsSubject, settingsSubject); err != nil {
			return fmt.Errorf("account %s: %w", a.GetName(), err)
		}
	}
	return nil
}

// URL is what clients connect to.
func (n *Server) URL() string { return n.server.ClientURL() }

// ClusterURL is what other servers of the cluster have among their routes; "" without one.
func (n *Server) ClusterURL() string {
	a := n.server.ClusterAddr()
	if a == nil {
		return ""
	}
	return "nats-route://" + a.String()
}

// MonitorURL is where the monitoring is; "" without it.
func (n *Server) MonitorURL() string {
	a := n.server.MonitorAddr()
	if a == nil {
		return ""
	}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host(a.IP), fmt.Sprint(a.Port))}).String()
}

func host(ip net.IP) string {
	if ip == nil || ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip.String()
}

// Name returns the name of the server.
func (n *Server) Name() string { return n.server.Name() }

// Peers returns how many servers of its cluster it is connected with, itself included.
func (n *Server) Peers() int { return n.server.NumRoutes()/max(1, n.opts.Cluster.PoolSize) + 1 }

// Server returns the library's server, for in-process connections.
func (n *Server) Server() *server.Server { return n.server }

// Close hands the leadership of streams to other servers, disconnects all clients and
// returns when the server has stopped. It is safe to call twice.
func (n *Server) Close() error {
	n.server.Shutdown()
	n.server.WaitForShutdown()
	for _, end := range n.watch {
		end()
	}
	return nil
}

// logger passes on what the server logs. The server repeats a line about each connection, and callers that
// it does not admit connect again and again.
type logger struct {
	log  *slog.Logger
	pace daemon.SharedLogPace   // of each line, without the connection that it is about
	last atomic.Pointer[string] // error
	// fatal is set after last: the server does not start, or does not go on.
	fatal atomic.Bool
}

func (l *logger) line(level slog.Level, format string, args []any) {
	if l.log != nil {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, args...), "part", "NATS")
	}
}

// connection matches what stands before the message in a line about a connection.
var connection = regexp.MustCompile(`^\S+ - [a-z]+:\d+ - (.* - )?`)

// paced is line, for one that may be repeated.
func (l *logger) paced(level slog.Level, format string, args []any) {
	about := fmt.Sprintf(format, args...)
	if connection.MatchString(format) { // its arguments may have the numbers of the connection, too
		about = connection.ReplaceAllString(format, "")
	}
	omitted, due := l.pace.Due(about)
	switch {
	case due && omitted > 0:
		l.line(level, format+" (%d more like this since the last one)", append(slices.Clone(args), omitted))
	case due:
		l.line(level, format, args)
	}
}

// why returns the last error of a server that did not start.
func (l *logger) why() string {
	text := l.last.Load()
	if text == nil {
		return ""
	}
	return ": " + strings.TrimSuffix(*text, ".")
}

// The server's notices are for debugging: it describes itself in thirty lines.

func (l *logger) Noticef(format string, args ...any) { l.line(slog.LevelDebug, format, args) }
func (l *logger) Warnf(format string, args ...any)   { l.paced(slog.LevelWarn, format, args) }
func (l *logger) Errorf(format string, args ...any) {
	l.keep(format, args)
	l.paced(slog.LevelError, format, args)
}
func (l *logger) Fatalf(format string, args ...any) {
	l.keep(format, args)
	l.line(slog.LevelError, format, args)
	l.fatal.Store(true)
}
func (l *logger) keep(format string, args []any) {
	text := fmt.Sprintf(format, args...)
	l.last.Store(&text)
}
func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}
