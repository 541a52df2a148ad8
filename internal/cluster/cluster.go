package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster struct {
	spec     Spec
	places   places
	temp     bool // the folder is removed at the end
	body     body
	failed   chan error
	closing  sync.Once
	closeErr error
}

// body is a cluster in one of the isolations.
type body interface {
	// start starts everything and returns when it is ready.
	start(ctx context.Context) error
	// frontends are where applications reach them, host:port.
	frontends() []string
	// web are where frontends serve HTTP, "" when off.
	web() []string
	// backends are where backend processes register, by node.
	backends() []Place
	usage() (Usage, error)
	messages(ctx context.Context) (uint64, error)
	// stop ends everything; it is called once, also after a failed start.
	stop() error
}

// Start starts a cluster and returns when it is ready. The error says which
// daemon could not be started; nothing of it is left then.
func Start(ctx context.Context, spec Spec) (*Cluster, error) {
	spec = spec.withDefaults()
	if err := spec.check(); err != nil {
		return nil, err
	}
	c := &Cluster{spec: spec, failed: make(chan error, 1)}
	if err := c.folder(); err != nil {
		return nil, err
	}
	if spec.Isolation == Process {
		c.body = newProcesses(c)
	} else {
		c.body = newInProcess(c)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, fmt.Errorf("it was not ready within %v", spec.StartTimeout))
	defer cancel()
	if err := c.body.start(bounded); err != nil {
		return nil, errors.Join(fmt.Errorf("the cluster could not be started: %w", err), c.Close())
	}
	return c, nil
}

func (c *Cluster) folder() (err error) {
	dir := c.spec.Dir
	if dir == "" {
		c.temp = true
		dir, err = os.MkdirTemp("", "pigeon-cluster-")
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("the cluster has no folder for its data: %w; nothing was started; name one that can be written", err)
	}
	c.places.dir = dir
	return nil
}

// Frontends are where applications reach the frontends, host:port, by number.
func (c *Cluster) Frontends() []string { return c.body.frontends() }

// Web is where the frontends serve their status, host:port, by number; "" when
// off.
func (c *Cluster) Web() []string { return c.body.web() }

// Place is a node and an address of it.
type Place struct {
	Node    string `json:"node"`
	Address string `json:"address"` // host:port
}

// Backends are where backend processes of applications register, by node. A
// cluster of processes has none to tell: its nodes take free ports.
func (c *Cluster) Backends() []Place { return c.body.backends() }

// NATS is the URL of the cluster's NATS server.
func (c *Cluster) NATS() string { return c.places.nats }

// Dir is the cluster's folder.
func (c *Cluster) Dir() string { return c.places.dir }

// Histories are the files that the frontends write, by number; nil unless the
// spec asks for them.
func (c *Cluster) Histories() []string {
	if !c.spec.History {
		return nil
	}
	files := make([]string, c.spec.Frontends)
	for i := range files {
		files[i] = historyFile(c.places.dir, i)
	}
	return files
}

// Failed tells of the first daemon that ended by itself.
func (c *Cluster) Failed() <-chan error { return c.failed }

func (c *Cluster) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

// Kill ends a process at once, without warning, and returns when it is gone:
// SIGKILL to number i of a role. Nodes are numbered through the groups. Only
// processes can be killed.
func (c *Cluster) Kill(r Role, i int) error { return c.member(r, i, (*process).kill) }

// Restart starts a process again that was killed, with its former settings. It
// does not wait until it is ready.
func (c *Cluster) Restart(r Role, i int) error {
	return c.member(r, i, func(p *process) error { return p.start(c.body.(*processes).spawner, c.fail) })
}

// Pause stops a process where it is, as a machine does that hangs: SIGSTOP to
// number i of a role. What it has started runs on. Only processes can be paused.
func (c *Cluster) Pause(r Role, i int) error {
	return c.member(r, i, func(p *process) error { return p.freeze(true) })
}

// Resume has a paused process go on.
func (c *Cluster) Resume(r Role, i int) error {
	return c.member(r, i, func(p *process) error { return p.freeze(false) })
}

// member does something to the process that is number i of a role.
func (c *Cluster) member(r Role, i int, do func(*process) error) error {
	p, ok := c.body.(*processes)
	if !ok {
		return errOneProcess
	}
	if i < 0 || i >= len(p.members[r]) {
		return fmt.Errorf("the cluster has no %s number %d, it has %d", r, i, len(p.members[r]))
	}
	return do(p.members[r][i])
}

// HTTP is where number i of a role serves its status, host:port; "" when that is
// off, or in another isolation than Process.
func (c *Cluster) HTTP(r Role, i int) (at string) {
	_ = c.member(r, i, func(p *process) error { at = p.http; return nil }) // what is not there serves nothing
	return at
}

// Attend starts a process that uses the cluster, in a process group of its own, and
// has it die with this program. Who starts it waits for its end, before Close. Only
// a cluster of processes attends.
func (c *Cluster) Attend(cmd *exec.Cmd) error {
	p, ok := c.body.(*processes)
	if !ok {
		return errOneProcess
	}
	cmd.SysProcAttr = attributes()
	return p.spawner.start(cmd)
}

// Usage returns what the daemons used since their start.
func (c *Cluster) Usage() (Usage, error) { return c.body.usage() }

// Close ends the cluster and returns when nothing of it is left. It is safe to
// call twice.
func (c *Cluster) Close() error { return c.Finish(nil) }

// Finish is Close with a look at what the daemons wrote, complete by then, before
// a temporary folder is removed. look may be nil; a second call does nothing.
func (c *Cluster) Finish(look func() error) error {
	c.closing.Do(func() {
		c.closeErr = c.body.stop()
		if look != nil {
			c.closeErr = errors.Join(c.closeErr, look())
		}
		if c.temp {
			c.closeErr = errors.Join(c.closeErr, os.RemoveAll(c.places.dir))
		}
	})
	return c.closeErr
}
