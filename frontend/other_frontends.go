package frontend

import (
	"context"
	"fmt"
	"net/url"
	"sync"

	"github.com/pigeon-sched/pigeon/internal/api"
	"github.com/pigeon-sched/pigeon/internal/daemon"
	"github.com/pigeon-sched/pigeon/internal/sched"
	"github.com/pigeon-sched/pigeon/internal/webpage"
	"github.com/pigeon-sched/pigeon/thrift/client"
	"github.com/pigeon-sched/pigeon/thrift/wire"
)

// otherFrontend asks another frontend for its jobs, for the page of this one. It calls in its own
// name: a frontend may see the names and states of jobs, as everybody with a role may.
type otherFrontend struct {
	name  string
	pool  *client.Pool
	calls *wire.SchedulerClient

	mu   sync.Mutex
	page string
	met  bool // it has said who it is
}

// dialFrontend returns the frontend of a name at an address, which is not called yet.
func (f *Frontend) dialFrontend(name, address string) (webpage.Other, error) {
	pool, err := client.New(client.Options{
		Name: fmt.Sprintf("frontend %q", name), Address: address, MaxConns: 2, FailFast: true, Security: f.life.To(wire.Ref{Role: sched.Distributor, Name: name}),
	})
	if err != nil {
		return nil, err
	}
	return &otherFrontend{name: name, pool: pool, calls: wire.NewSchedulerClient(pool)}, nil
}

// List implements [webpage.Other].
func (o *otherFrontend) List(ctx context.Context, limit int, after string) ([]api.Status, error) {
	if err := o.meet(ctx); err != nil {
		return nil, err
	}
	return o.calls.List(ctx, limit, after)
}

// meet asks it once who it is, and where its page is.
func (o *otherFrontend) meet(ctx context.Context) error {
	o.mu.Lock()
	met := o.met
	o.mu.Unlock()
	if met {
		return nil
	}
	identity, err := o.calls.Identify(ctx)
	if err != nil {
		return err
	}
	if identity.Name != o.name {
		return answersAs(o.name, identity.Name)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.met = true
	if u, err := url.Parse(identity.Page); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		o.page = u.String()
	}
	return nil
}

// Page implements [webpage.Other].
func (o *otherFrontend) Page() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.page
}

// Close implements [webpage.Other].
func (o *otherFrontend) Close() { _ = o.pool.Close() } // it has no error

// pageAddress returns where others find the page that is served at a URL, if its server's address
// is told as advertised, and that of the frontend as the third: "" for a page on loopback of a
// frontend that other machines reach.
func pageAddress(served, advertised, frontend string) string {
	u, err := url.Parse(served)
	if err != nil || u.Host == "" || daemon.IsLoopback(u.Host) && !daemon.IsLoopback(frontend) {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: advertised, Path: "/"}).String()
}
