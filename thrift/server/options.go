package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"net"
	"time"
)

// Frame limits. ClientMaxFrame is for the ports that published clients call: a submission
// carries up to 100,000 tasks, and the prototypes accept and send messages of that size.
const (
	DefaultMaxFrame = 1 << 20
	ClientMaxFrame  = 16 << 20
)

// Options of a [Server]; a zero field takes its default.
type Options struct {
	// Name is the name of the service in logs and errors: "scheduler service".
	Name string
	// Address to listen on, host:port; port 0 takes a free one. Default
	// 127.0.0.1:0.
	Address string
	// Listener, if given, is used instead of Address; the server closes it.
	Listener net.Listener
	// MaxFrame is the largest message accepted or sent, bytes. Default 1 MiB.
	MaxFrame int
	// MaxElements bounds one list or map of a message, because an element may
	// take a byte on the wire and a hundred in memory. Default 250,000.
	MaxElements int
	// MaxConns bounds connections in all, and half of it those of callers that have proven nothing. At a
	// bound, a new connection takes the place of one of these. Default 8,192.
	MaxConns int
	// MaxConnsPerHost bounds connections of one IP address, or of one /64 of IPv6. A whole cluster may
	// share one on a test machine. Default 4,096.
	MaxConnsPerHost int
	// MaxConnsPerCaller bounds connections of one user, and those of unproven callers from one
	// address; daemons and their own user have no such bound. A user's call on one more is answered with
	// that, within FrameTimeout, unless it proves that the caller is another; a sixteenth of the bound
	// may wait for it, further ones are closed at once. Default 1,024.
	MaxConnsPerCaller int
	// LeavesDescriptors has callers try again whose connection took one of the last file descriptors of this
	// process: the daemon needs them for the work of the callers that it serves. Default: all are used.
	LeavesDescriptors bool
	// Memory bounds the bytes of frames in flight, beyond 8 KiB per connection (about
	// 40 KiB with TLS);
	// at least MaxFrame * 2. The frames of one user have at most half of it, or MaxFrame * 2 where that is
	// more; larger frames of unproven callers are not kept. Default 256 MiB.
	Memory int64
	// IdleTimeout ends a connection that sends no message. Applications hold
	// connections open while tasks run. Default 1 h.
	IdleTimeout time.Duration
	// FrameTimeout runs from a frame's first byte to its last, and is the IdleTimeout of callers that have
	// proven nothing. Default 10 s.
	FrameTimeout time.Duration
	// WriteTimeout runs over the whole writing of a reply. Default 10 s.
	WriteTimeout time.Duration
	// HandshakeTimeout bounds TLS' handshake. Default 10 s.
	HandshakeTimeout time.Duration
	// Security is how callers are identified, and what they may do.
	Security Security
	// EndAfter reports whether a connection ends after the reply to a call that was
	// answered with that exception. Default: none does.
	EndAfter func(exception error) bool
	// StopTimeout is the time for calls to finish when the server stops, and then
	// again the time for them to notice that their context ended. Default 5 s.
	StopTimeout time.Duration
	// Log receives the reasons of refused and closed connections, at most a line a
	// second for each reason. Default slog.Default().
	Log *slog.Logger
}

// withDefaults fills zero fields.
func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "thrift service")
	o.Address = cmp.Or(o.Address, "127.0.0.1:0")
	o.MaxFrame = cmp.Or(o.MaxFrame, DefaultMaxFrame)
	o.MaxElements = cmp.Or(o.MaxElements, 250_000)
	o.MaxConns = cmp.Or(o.MaxConns, 8192)
	o.MaxConnsPerHost = cmp.Or(o.MaxConnsPerHost, 4096)
	o.MaxConnsPerCaller = cmp.Or(o.MaxConnsPerCaller, 1024)
	o.Memory = cmp.Or(o.Memory, 256<<20)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Hour)
	o.FrameTimeout = cmp.Or(o.FrameTimeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.HandshakeTimeout = cmp.Or(o.HandshakeTimeout, 10*time.Second)
	o.StopTimeout = cmp.Or(o.StopTimeout, 5*time.Second)
	if o.EndAfter == nil {
		o.EndAfter = func(error) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// memoryOfCaller returns the part of Memory for the frames of one caller.
func (o *Options) memoryOfCaller() int64 { return max(o.Memory/2, 2*int64(o.MaxFrame)) }

// validate returns an error that names the first invalid option.
func (o Options) validate() error {
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"MaxFrame", int64(o.MaxFrame), math.MaxInt32 / 2},
		{"MaxElements", int64(o.MaxElements), math.MaxInt32},
		{"MaxConns", int64(o.MaxConns), math.MaxInt32},
		{"MaxConnsPerHost", int64(o.MaxConnsPerHost), math.MaxInt32},
		{"MaxConnsPerCaller", int64(o.MaxConnsPerCaller), math.MaxInt32},
		{"Memory", o.Memory, math.MaxInt64},
		{"IdleTimeout", int64(o.IdleTimeout), math.MaxInt64},
		{"FrameTimeout", int64(o.FrameTimeout), math.MaxInt64},
		{"WriteTimeout", int64(o.WriteTimeout), math.MaxInt64},
		{"HandshakeTimeout", int64(o.HandshakeTimeout), math.MaxInt64},
		{"StopTimeout", int64(o.StopTimeout), math.MaxInt64},
	} {
		if f.value < 0 || f.value > f.most {
			return fmt.Errorf("server: Options.%s is %d, want 1 to %d", f.name, f.value, f.most)
		}
	}
	// A frame that grows holds its old and its new buffer for a moment.
	if o.Memory < 2*int64(o.MaxFrame) {
		return fmt.Errorf("server: Options.Memory is %d, want at least twice MaxFrame (%d)", o.Memory, 2*o.MaxFrame)
	}
	return nil
}
