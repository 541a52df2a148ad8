package jetstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/delay"
	"github.com/pigeon-sched/pigeon/internal/leadership/protocol"
	"github.com/pigeon-sched/pigeon/internal/notice"
	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Options are the settings of a [Store].
type Options struct {
	notice.Access
	// Name is this daemon to the servers' operator and in errors: "master of group 0".
	Name string
	// Cluster is the name of Pigeon's cluster, ID what distinguishes it from others of that name;
	// "" takes the id that is kept, or a new one.
	Cluster, ID string
	// Replicas of everything that is kept: 1 or 3.
	Replicas int
	// Monitor has the URLs of the servers' monitoring, with commas between them; "" for none.
	Monitor string
	// SyncAlways states that the servers have sync_interval: always, where no server can report
	// that.
	SyncAlways bool
	// TTL of leaderships; the loss of a server is noticed within a part of it.
	TTL time.Duration
	// Log is written while the servers are waited for. Default slog.Default().
	Log *slog.Logger
}

// Store is a connection to JetStream that was checked. It is safe for concurrent use.
type Store struct {
	opts   Options
	opened time.Time
	id     string // of the cluster
	nc     *nats.Conn
	js     jetstream.JetStream

	refusals  int                   // checks of Open that found that a server does not admit this daemon
	unreached atomic.Pointer[error] // why the last attempt to connect has failed, which the library does not keep
}

const (
	// retryPause is the pause between two checks of a state that passes by itself.
	retryPause = 250 * time.Millisecond
	// firstAttempts is how long nothing may be known of why no server is connected.
	firstAttempts = time.Second
	// requestWait bounds one request of a check.
	requestWait = 5 * time.Second
	defaultTTL  = 1500 * time.Millisecond
	leastPing   = 100 * time.Millisecond
)

// Open connects and checks. It returns when all checks hold, when one fails that will not
// change by itself, with an *api.Error, or when ctx ends, with the last reason.
func Open(ctx context.Context, o Options) (*Store, error) {
	o.TTL = cmp.Or(o.TTL, defaultTTL)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{opts: o, opened: time.Now()}
	if err := s.connect(); err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// wait repeats the checks until they hold or cannot. When ctx ends meanwhile, the error is the one
// that it waited to resolve, and not that a check was interrupted.
func (s *Store) wait(ctx context.Context) error {
	var cause error
	for logged := false; ; {
		err := s.check(ctx)
		if err == nil && logged {
			s.opts.Log.Info("JetStream can be used", "servers", s.opts.Redacted())
		}
		if refused, ok := errors.AsType[*api.Error](err); err == nil || ok && refused.Problem == api.Invalid {
			return err
		}
		if cause == nil || ctx.Err() == nil {
			cause = err
		}
		if !logged && (!errors.Is(err, nats.ErrDisconnected) || time.Since(s.opened) > firstAttempts) {
			logged = true
			s.opts.Log.Warn("JetStream is waited for", "servers", s.opts.Redacted(), "error", err)
		}
		if !delay.For(ctx, retryPause) {
			return s.unready(cause, "waiting for it")
		}
	}
}

// check makes each check once.
func (s *Store) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	if !s.nc.IsConnected() {
		err := s.nc.LastError()
		if refusesUs(err) {
			s.refusals++
		}
		if s.nc.IsClosed() || s.refusals >= refusalsSeen {
			return s.refuse(s.opts.Explain(cmp.Or(err, nats.ErrConnectionClosed)), "connecting",
				"correct nats, nats_credentials, nats_ca, nats_cert and nats_key, or tls_ca, tls_cert and tls_key where these are empty")
		}
		if why := s.unreached.Load(); err == nil && why != nil {
			err = *why
		}
		if err != nil {
			return errors.New(s.opts.Explain(err))
		}
		return nats.ErrDisconnected
	}
	if err := s.checkServers(ctx); err != nil {
		return err
	}
	if err := s.identify(ctx); err != nil {
		return err
	}
	return s.checkRenewal(ctx)
}

const (
	probes = 3  // writes, the fastest of which tells how long a renewal takes at least
	pings  = 10 // within a TTL
)

// checkRenewal refuses a TTL in which a leader could not renew.
func (s *Store) checkRenewal(ctx context.Context) error {
	fastest := time.Duration(math.MaxInt64)
	for range probes {
		begun := time.Now()
		if _, err := s.js.Publish(ctx, "$KV."+s.leadershipBucket()+".probe", nil); err != nil {
			return s.Explain(err, "writing to the bucket "+s.leadershipBucket())
		}
		fastest = min(fastest, time.Since(begun))
	}
	if every := time.Duration(protocol.RenewalEvery(sched.Time(s.opts.TTL))); fastest > every {
		return fmt.Errorf("a write takes %v or longer, and leader_ttl is %v, which is renewed every %v; raise leader_ttl, or give the servers faster disks", fastest, s.opts.TTL, every)
	}
	return nil
}

// refusalsSeen is how many checks find that a server refuses this daemon before Open gives up. All
// servers are tried between two checks: one that refuses it may be next to others that do not.
const refusalsSeen = 3

// refusesUs reports whether the error of an attempt to connect is that a server does not admit this
// daemon.
func refusesUs(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired)
}

// connect begins to connect; servers that are away are tried until the store is closed.
func (s *Store) connect() error {
	ping := max(s.opts.TTL/pings, leastPing) // two without an answer: another server
	options := append(s.opts.NATSOptions(),
		nats.Name(s.opts.Name),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // after Open, who is admitted may be corrected at the servers
		nats.ReconnectWait(50*time.Millisecond),
		nats.ReconnectJitter(25*time.Millisecond, 25*time.Millisecond),
		nats.ReconnectBufSize(-1), // a write that waits for a server would come too late
		nats.Timeout(2*ping),
		nats.PingInterval(ping),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(ping),
		nats.ReconnectOnFlusherError(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				s.opts.Log.Warn("the connection to a JetStream server was lost; another is tried", "error", s.opts.Explain(err))
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if !errors.Is(err, nats.ErrNoServers) { // which says nothing about any of them
				s.unreached.Store(&err)
			}
		}),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // callers get it as their error
	)
	nc, err := nats.Connect(s.opts.URL, options...)
	if err != nil {
		return s.refuse(s.opts.Explain(err), "connecting", "set nats to the URLs of the servers, such as nats://n1:4222,nats://n2:4222,nats://n3:4222")
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return err
	}
	s.nc, s.js = nc, js
	return nil
}

// JetStream returns the connection for streams that [Store.Stream] has made.
func (s *Store) JetStream() jetstream.JetStream { return s.js }

// Conn returns the connection itself.
func (s *Store) Conn() *nats.Conn { return s.nc }

// ClusterID returns what distinguishes this cluster from others of its name.
func (s *Store) ClusterID() string { return s.id }

// Close ends the connection. It is safe to call twice.
func (s *Store) Close() { s.nc.Close() }

func (s *Store) subject() string { return fmt.Sprintf("JetStream at %s", s.opts.Redacted()) }
