package notice

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Options of a [Conn]; a zero field means its default.
type Options struct {
	// Access names the servers. Default nats://127.0.0.1:4222.
	Access
	// Name is this daemon to the server's operator: "node n7".
	Name string
	// MaxQueued and MaxQueuedBytes bound what is published and not handed on
	// yet. Defaults 8,192 notices and 8 MiB.
	MaxQueued, MaxQueuedBytes int
	// MaxPending and MaxPendingBytes bound what a subscription has received and
	// its function has not taken yet; beyond that, the newest is dropped. Defaults
	// 8,192 notices and 32 MiB.
	MaxPending, MaxPendingBytes int
	// ReconnectWait is the pause between attempts to connect, plus a random part of
	// up to half of it. Default 100 ms.
	ReconnectWait time.Duration
	// OnState is called at every change of Connected, in order. It must not call the
	// Conn.
	OnState func(connected bool)
	// Log is written when the server is reached and lost. Default slog.Default().
	Log *slog.Logger

	dialer nats.CustomDialer // for tests
}

func (o Options) withDefaults() Options {
	o.URL = cmp.Or(o.URL, nats.DefaultURL)
	o.MaxQueued = cmp.Or(o.MaxQueued, 8192)
	o.MaxQueuedBytes = cmp.Or(o.MaxQueuedBytes, 8<<20)
	o.MaxPending = cmp.Or(o.MaxPending, 8192)
	o.MaxPendingBytes = cmp.Or(o.MaxPendingBytes, 32<<20)
	o.ReconnectWait = cmp.Or(o.ReconnectWait, 100*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.OnState == nil {
		o.OnState = func(bool) {}
	}
	return o
}

// natsOptions are the settings of the connection. Each differs from the
// library's default because that would end the connection for good, keep stale
// notices, or notice a dead server only after minutes.
func (c *Conn) natsOptions() []nats.Option {
	o := append(c.opts.NATSOptions(),
		nats.Name(c.opts.Name),
		nats.NoEcho(),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // who is admitted may be corrected at the servers
		nats.ReconnectWait(c.opts.ReconnectWait),
		nats.ReconnectJitter(c.opts.ReconnectWait/2, c.opts.ReconnectWait/2),
		nats.ReconnectBufSize(-1),
		nats.Timeout(time.Second),
		nats.PingInterval(time.Second),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(500*time.Millisecond),
		nats.ReconnectOnFlusherError(),
		nats.ConnectHandler(func(nc *nats.Conn) { c.changed(nc, nil) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.changed(nc, nil) }),
		nats.ReconnectErrHandler(c.unreached),
		nats.DisconnectErrHandler(c.changed),
		nats.ErrorHandler(c.fault),
		nats.ClosedHandler(c.gone),
	)
	if _, own := embedded.Load(c.opts.URL); own {
		o = append(o, nats.InProcessServer(ownServer(c.opts.URL)))
	}
	if c.opts.dialer != nil {
		o = append(o, nats.SetCustomDialer(c.opts.dialer))
	}
	return o
}
