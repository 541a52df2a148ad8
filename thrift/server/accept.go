package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/delay"
)

// Back-off of the accept loop while the machine is short of something.
const (
	acceptBackoffMin = 5 * time.Millisecond
	acceptBackoffMax = time.Second
)

// accept accepts connections until ctx is done (nil) or the listener ends (error). calls
// is the context of the handlers; all counts the goroutines of connections.
func (s *Server) accept(ctx, calls context.Context, l net.Listener, all *sync.WaitGroup) error {
	var backoff time.Duration
	kept.open()
	for {
		nc, err := l.Accept()
		if errors.Is(err, syscall.EMFILE) && kept.close() {
			s.count.acceptErrors.Add(1)
			nc, err = l.Accept() // it learns that it is to try again
		}
		kept.open()
		switch {
		case err == nil:
			backoff = 0
			s.admit(calls, nc, all)
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Run closed the listener
		case temporary(err):
			s.count.acceptErrors.Add(1)
			backoff = min(max(2*backoff, acceptBackoffMin), acceptBackoffMax)
			s.gate.warn(Full, "cannot accept connections for now; raise the limit of open files (ulimit -n) if this stays",
				"error", err, "retry_after", backoff)
			delay.For(ctx, backoff)
		default:
			return fmt.Errorf("%s: the listener on %v ended: %w", s.opts.Name, l.Addr(), err)
		}
	}
}

// kept is a descriptor of this process that is kept for accepting: without one, callers would wait for nothing.
// One serves all servers, since a process has few where it runs out of them.
var kept spare

type spare struct {
	mu   sync.Mutex
	file *os.File
}

func (s *spare) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		s.file, _ = os.Open(os.DevNull) // without one, the next try comes with the next connection
	}
}

// close frees the descriptor. It reports whether there was one.
func (s *spare) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.file != nil
	if had {
		_ = s.file.Close() // nothing was written
		s.file = nil
	}
	return had
}

// admit starts a connection's goroutine unless a cap forbids it.
func (s *Server) admit(calls context.Context, nc net.Conn, all *sync.WaitGroup) {
	s.count.accepted.Add(1)
	c := newConn(s, nc)
	displaced, why, ok := s.conns.admit(c)
	if displaced != nil {
		displaced.displace()
	}
	if !ok {
		s.count.ended[why].Add(1)
		_ = nc.Close()
		if why != Finished {
			s.gate.warn(why, "connection refused", "remote", nc.RemoteAddr(),
				"max_conns", s.opts.MaxConns, "max_conns_per_host", s.opts.MaxConnsPerHost)
		}
		return
	}
	all.Go(func() { c.run(calls) })
}

// temporary reports whether an error of Accept is transient (out of descriptors or
// memory, a peer that left before it was accepted) and not the end of the listener.
func temporary(err error) bool {
	for _, e := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR, syscall.EAGAIN,
		syscall.EPROTO, syscall.ENETDOWN, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
