package client

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"time"
)

// DefaultMaxFrame is the largest message in bytes unless Options.MaxFrame says otherwise; servers
// take as much at the ports for applications.
const DefaultMaxFrame = 16 << 20

// Options of a [Pool]; a zero field takes its default.
type Options struct {
	// Name is the name of the peer in errors: "master of group 3". Default "peer".
	Name string
	// Address is host:port.
	Address string
	// MaxConns bounds connections, and so calls at a time. Default 16.
	MaxConns int
	// CallTimeout is the deadline of a call whose context has none. Default 5 s.
	CallTimeout time.Duration
	// DialTimeout bounds one attempt to connect, the handshake of TLS and the proof of
	// identity included. Default 1 s, 3 s with TLS.
	DialTimeout time.Duration
	// IdleTimeout closes connections not used for that long when another call ends;
	// keep it below the server's idle limit. Default 1 min.
	IdleTimeout time.Duration
	// BackoffMin and BackoffMax bound the pause after a failed dial: the n-th
	// lasts min(BackoffMin * 2^n, BackoffMax), less a random part of up to half of
	// it. Defaults 10 ms and 1 s.
	BackoffMin, BackoffMax time.Duration
	// FailFast makes calls fail during that pause instead of waiting.
	FailFast bool
	// MaxFrame is the largest message sent or accepted, bytes. Default 16 MiB.
	MaxFrame int
	// MaxElements bounds one list or map of a reply. Default 1,000,000.
	MaxElements int
	// Closed, if set, returns why no call may be made now, nil when calls may: a daemon that
	// does not lead any more makes no call as if it did.
	Closed func() error
	// Security is how the peer is verified, and how it identifies the caller.
	Security Security
	// Dial replaces net.Dialer.DialContext, for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "peer")
	o.MaxConns = cmp.Or(o.MaxConns, 16)
	o.CallTimeout = cmp.Or(o.CallTimeout, 5*time.Second)
	if o.Security.TLS != nil {
		o.DialTimeout = cmp.Or(o.DialTimeout, 3*time.Second)
	}
	o.DialTimeout = cmp.Or(o.DialTimeout, time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Minute)
	o.BackoffMin = cmp.Or(o.BackoffMin, 10*time.Millisecond)
	o.BackoffMax = cmp.Or(o.BackoffMax, time.Second)
	o.MaxFrame = cmp.Or(o.MaxFrame, DefaultMaxFrame)
	o.MaxElements = cmp.Or(o.MaxElements, 1_000_000)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return o
}

// validate returns an error that names the first invalid option.
func (o Options) validate() error {
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		return fmt.Errorf("client: Options.Address: %w", err)
	}
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"MaxConns", int64(o.MaxConns), 1 << 16},
		{"CallTimeout", int64(o.CallTimeout), math.MaxInt64},
		{"DialTimeout", int64(o.DialTimeout), math.MaxInt64},
		{"IdleTimeout", int64(o.IdleTimeout), math.MaxInt64},
		{"BackoffMin", int64(o.BackoffMin), int64(o.BackoffMax)},
		{"BackoffMax", int64(o.BackoffMax), int64(time.Hour)},
		{"MaxFrame", int64(o.MaxFrame), math.MaxInt32 / 2},
		{"MaxElements", int64(o.MaxElements), math.MaxInt32},
	} {
		if f.value <= 0 || f.value > f.most {
			return fmt.Errorf("client: Options.%s is %d, want 1 to %d", f.name, f.value, f.most)
		}
	}
	return nil
}
