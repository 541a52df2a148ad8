package client

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// ShortRetry bounds how long a call on which nothing depends is repeated: a query, or
// any call before a frontend has answered for the first time.
const ShortRetry = 5 * time.Second

// maxFrontends bounds the addresses that a client knows: those that it was given and those
// that refusals named.
const maxFrontends = 64

// Options are the settings of a [Client].
type Options struct {
	Addresses []string      // host:port of the frontends, at least one
	Timeout   time.Duration // of one answer
	// Retry is how long a call about an unfinished job is repeated while no frontend
	// answers it; 0: it is made once at each.
	Retry time.Duration
	// Say is called with a line when the client waits, and when it continues; nil: neither is
	// reported.
	Say func(line string)
	// Security is how the frontends are verified, and how they identify the caller.
	Security client.Security
	// Dial replaces net.Dialer.DialContext, for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls the frontends of one cluster. It is safe for concurrent use.
type Client struct {
	opts Options

	mu      sync.Mutex
	known   []*Frontend // those of the options first
	reached bool        // a frontend has answered
	gaveUp  bool        // none has answered a call in its time
	waits   map[waitKey]*wait
}

// Frontend is the connection to the frontend at one address.
type Frontend struct {
	*wire.SchedulerClient
	Address string
	pool    *client.Pool

	mu       sync.Mutex
	identity api.FrontendIdentity
	asked    bool // identity is known
}

// New returns a client; no connection is opened yet. The error names the wrong address.
func New(o Options) (*Client, error) {
	c := &Client{opts: o}
	for _, address := range o.Addresses {
		if _, err := c.at(address); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if len(c.known) == 0 {
		return nil, errors.New("client: no address is given")
	}
	return c, nil
}

// Close closes all connections. It may be called twice.
func (c *Client) Close() (err error) {
	for _, f := range c.all() {
		err = errors.Join(err, f.pool.Close())
	}
	return err
}

// Frontends returns the frontends of the options, in their order.
func (c *Client) Frontends() []*Frontend { return c.all()[:len(c.opts.Addresses)] }

// all returns the frontends that are known now.
func (c *Client) all() []*Frontend {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.known)
}

// at returns the frontend at an address, which is new or known. One too many is refused.
func (c *Client) at(address string) (*Frontend, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.known {
		if f.Address == address && len(c.known) >= len(c.opts.Addresses) {
			return f, nil
		}
	}
	if len(c.known) >= max(maxFrontends, len(c.opts.Addresses)) {
		return nil, fmt.Errorf("more than %d frontends are named", maxFrontends)
	}
	pool, err := client.New(client.Options{Name: "frontend", Address: address, MaxConns: 4, FailFast: true, BackoffMax: longestPause, Security: c.opts.Security, Dial: c.opts.Dial})
	if err != nil {
		return nil, err
	}
	f := &Frontend{SchedulerClient: wire.NewSchedulerClient(pool), Address: address, pool: pool}
	c.known = append(c.known, f)
	return f, nil
}

// heard is called when a frontend has answered.
func (c *Client) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = true
}

// patience returns how long a call that would be repeated for d is repeated.
func (c *Client) patience(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.reached:
		return d
	case c.gaveUp:
		return 0
	}
	return min(d, ShortRetry)
}

// giveUp is called when no frontend has answered a call in its time. While none has ever
// answered, further calls are made once: one wait for a wrong address is enough.
func (c *Client) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaveUp = true
}

// first returns the frontend to which this program submits a job with that key, so that
// the same key reaches the same frontend, and requests about it begin there.
func (c *Client) first(key string) *Frontend {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	return c.Frontends()[h.Sum64()%uint64(len(c.opts.Addresses))]
}

// Identify returns which frontend answers at the address. It asks once: an address
// belongs to one frontend. A frontend older than this method has no name.
func (f *Frontend) Identify(ctx context.Context) (api.FrontendIdentity, error) {
	f.mu.Lock()
	identity, asked := f.identity, f.asked
	f.mu.Unlock()
	if asked {
		return identity, nil
	}
	identity, err := f.SchedulerClient.Identify(ctx)
	if hasProblem(err, api.Invalid) && !unanswered(err) {
		identity, err = api.FrontendIdentity{}, nil // it does not offer the method
	}
	if err != nil {
		return identity, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.identity, f.asked = identity, true
	return identity, nil
}

// name returns the name of the frontend, "" while it is not known.
func (f *Frontend) name() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity.Name
}
