package sparktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pigeon-sched/pigeon/cluster"
	"github.com/pigeon-sched/pigeon/nodemonitor"
)

// The roles of daemons, for Kill and the like.
const (
	Frontend    = cluster.Frontend
	Master      = cluster.Master
	NodeMonitor = cluster.NodeMonitor
)

// Options describe a cluster. The zero value of a field takes the default given.
type Options struct {
	Name      string // of its folder; the test's name
	Nodes     int    // default 2, distributed evenly over the masters
	Slots     int    // of each node; default 2
	Memory    int64  // MB of each node for executors; default 4096
	Masters   int    // default 1
	Frontends int    // default 1
	Policy    string // default pigeon
	Reserved  float64
	Weight    int
	Env       []string // of the daemons, KEY=value
	// Configure may change the configuration of every daemon: it is called with a
	// *frontend.Config, *master.Config or *nodemonitor.Config.
	Configure func(config any)
}

func (o Options) withDefaults() Options {
	o.Nodes, o.Slots = cmp.Or(o.Nodes, 2), cmp.Or(o.Slots, 2)
	o.Masters, o.Frontends = cmp.Or(o.Masters, 1), cmp.Or(o.Frontends, 1)
	o.Memory = cmp.Or(o.Memory, 4096)
	return o
}

// groups distributes the nodes over the masters.
func (o *Options) groups() []int {
	groups := make([]int, o.Masters)
	for n := range o.Nodes {
		groups[n%o.Masters]++
	}
	return groups
}

// Cluster is a cluster of processes on this machine. Its methods may be called from
// any goroutine.
type Cluster struct {
	daemons *cluster.Cluster
	program string
	dir     string
	nodes   []string // names, by number

	mu      sync.Mutex
	drivers int // started
}

// Open starts a cluster and returns when every daemon is ready.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	program, err := Program(ctx)
	if err != nil {
		return nil, err
	}
	runs := filepath.Join(Root(), "out", "sparktest", "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return nil, err
	}
	name := strings.NewReplacer("/", "-", " ", "-", "*", "-").Replace(cmp.Or(o.Name, "run"))
	dir, err := os.MkdirTemp(runs, name+"-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // as /proc reports theirs
	}
	if err != nil {
		return nil, err
	}
	c := &Cluster{program: program, dir: dir}
	spec := cluster.Spec{
		Groups: o.groups(), Slots: o.Slots, Frontends: o.Frontends, Policy: o.Policy, Reserved: o.Reserved, Weight: o.Weight,
		Isolation: cluster.Process, Dir: dir, HTTP: true, Command: []string{program}, Env: o.Env,
		StartTimeout: time.Minute, // of a loaded machine
		Configure: func(config any) {
			if n, ok := config.(*nodemonitor.Config); ok {
				n.Memory = o.Memory
				c.nodes = append(c.nodes, n.ID)
			}
			if o.Configure != nil {
				o.Configure(config)
			}
		},
	}
	if c.daemons, err = cluster.Start(ctx, spec); err != nil {
		return nil, fmt.Errorf("%w; the logs are in %s", err, dir)
	}
	return c, nil
}

// Close ends the cluster, kills the processes that applications left, and
// removes the folder unless keep is set. Drivers must have ended.
func (c *Cluster) Close(keep bool) error {
	err := c.daemons.Close()
	for _, p := range c.processes() {
		err = errors.Join(err, fmt.Errorf("a process is left that an executor started: %s", p), p.kill())
	}
	if !keep {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

// Dir is the folder of the cluster: logs of daemons in logs, those of drivers in
// driver-N, the folders of nodes in work.
func (c *Cluster) Dir() string { return c.dir }

// Frontends returns the addresses of the frontends, by number.
func (c *Cluster) Frontends() []string { return c.daemons.Frontends() }

// Master returns the master URL for Spark.
func (c *Cluster) Master() string { return "pigeon://" + strings.Join(c.Frontends(), ",") }

// Program returns the path of the pigeon in use.
func (c *Cluster) Program() string { return c.program }

// Kill ends number i of a role at once (SIGKILL), and returns when it has ended.
func (c *Cluster) Kill(r cluster.Role, i int) error { return c.daemons.Kill(r, i) }

// Restart starts a killed daemon again. It does not wait until it is ready.
func (c *Cluster) Restart(r cluster.Role, i int) error { return c.daemons.Restart(r, i) }

// Pause suspends number i of a role (SIGSTOP).
func (c *Cluster) Pause(r cluster.Role, i int) error { return c.daemons.Pause(r, i) }

// Resume continues it (SIGCONT).
func (c *Cluster) Resume(r cluster.Role, i int) error { return c.daemons.Resume(r, i) }

// HTTP returns the host:port at which number i of a role serves its status.
func (c *Cluster) HTTP(r cluster.Role, i int) string { return c.daemons.HTTP(r, i) }

// Nodes returns the number of nodes.
func (c *Cluster) Nodes() int { return len(c.nodes) }
