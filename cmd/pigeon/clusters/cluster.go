package clusters

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pigeon-sched/pigeon/internal/hosts"
)

// Cluster works on the hosts of a plan. Make one with Open; call Close.
type Cluster struct {
	plan   *Plan
	opts   Options
	remote *hosts.Remote

	mu      sync.Mutex
	results map[string]*HostResult // by host
}

// Options of a [Cluster].
type Options struct {
	Program  Program
	Parallel int               // hosts at a time; at least 1
	Say      func(line string) // is called with each step; may be called from any goroutine
}

// HostResult is what was changed on a host, or found there.
type HostResult struct {
	Host    string          `json:"host"`            // its name
	State   string          `json:"state"`           // as planned, changed, different, failed, absent or removed
	Changes []string        `json:"changes"`         // what was done, or, by status, what differs from the plan
	Daemons []ServiceResult `json:"daemons"`         // its daemons, by status
	Error   string          `json:"error,omitempty"` // why it failed
	Seconds float64         `json:"seconds"`         // that it took
}

// ServiceResult is a daemon of a host.
type ServiceResult struct {
	Role    string `json:"role"`    // nats, master, frontend or node
	Running bool   `json:"running"` // its process runs
	Ready   bool   `json:"ready"`   // it serves
	Program string `json:"program"` // file of the program that it runs
}

// The states of a host.
const (
	AsPlanned = "as planned"
	Changed   = "changed"
	Different = "different" // from its plan
	Failed    = "failed"
	Absent    = "absent" // nothing of the cluster is there
	Removed   = "removed"
)

// Open prepares to work on the hosts of a plan.
func Open(p *Plan, o Options) (*Cluster, error) {
	remote, err := hosts.OpenRemote(p.Inventory)
	if err != nil {
		return nil, err
	}
	o.Parallel = max(o.Parallel, 1)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	c := &Cluster{plan: p, opts: o, remote: remote, results: map[string]*HostResult{}}
	for _, h := range p.Hosts {
		c.results[h.Host.Name] = &HostResult{Host: h.Host.Name, State: AsPlanned, Changes: []string{}, Daemons: []ServiceResult{}}
	}
	return c, nil
}

// Close ends the connections.
func (c *Cluster) Close() error {
	var all []*hosts.Host
	for _, h := range c.plan.Hosts {
		all = append(all, h.Host)
	}
	return c.remote.Close(all)
}

// Results returns the result for each host, in the order of the inventory.
func (c *Cluster) Results() (list []HostResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.plan.Hosts {
		list = append(list, *c.results[h.Host.Name])
	}
	return list
}

// on changes the result of a host.
func (c *Cluster) on(p *HostPlan, change func(*HostResult)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.results[p.Host.Name])
}

// fail records why a host failed; nothing more is done there.
func (c *Cluster) fail(p *HostPlan, err error) {
	c.on(p, func(r *HostResult) { r.State, r.Error = Failed, err.Error() })
	c.opts.Say("failed: " + err.Error())
}

// failed reports whether a host has failed.
func (c *Cluster) failed(p *HostPlan) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results[p.Host.Name].State == Failed
}

// each works on hosts in parallel, on those that have not failed. A failure is that of the host
// and keeps no other from its work.
func (c *Cluster) each(ctx context.Context, list []*HostPlan, work func(context.Context, *HostPlan) error) {
	var g errgroup.Group
	g.SetLimit(c.opts.Parallel)
	for _, p := range list {
		if c.failed(p) {
			continue
		}
		g.Go(func() error {
			if err := work(ctx, p); err != nil {
				c.fail(p, err)
			}
			return nil
		})
	}
	_ = g.Wait() // the work returns none
}

// failure returns that hosts failed, nil when none did.
func (c *Cluster) failure() error {
	var all []error
	for _, r := range c.Results() {
		if r.State == Failed {
			all = append(all, errors.New(r.Error))
		}
	}
	return errors.Join(all...)
}
