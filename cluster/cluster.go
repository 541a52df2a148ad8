package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pigeon-sched/pigeon/internal/childproc"
	"github.com/pigeon-sched/pigeon/internal/files"
	"github.com/pigeon-sched/pigeon/internal/notice"
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
	// start starts all daemons and returns when they are ready.
	start(ctx context.Context) error
	// frontends returns the addresses for applications, host:port.
	frontends() []string
	// web returns where frontends serve HTTP, "" when off.
	web() []string
	// gatherer returns the metrics of all daemons, nil when they are other processes.
	gatherer() prometheus.Gatherer
	// backends returns where backend processes register, by node.
	backends() []Place
	usage() (Usage, error)
	messages(ctx context.Context) (uint64, error)
	// stop ends all daemons; it is called once, also after a failed start.
	stop() error
}

// Start starts a cluster and returns when it is ready. After an error, which
// names the daemon that could not be started, nothing is left running.
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
	if err := c.certify(); err != nil {
		return nil, errors.Join(c.spec.notStarted(err), c.Close())
	}
	bounded, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, fmt.Errorf("it was not ready within %v", spec.StartTimeout))
	defer cancel()
	if err := c.body.start(bounded); err != nil {
		return nil, errors.Join(c.spec.notStarted(err), c.Close())
	}
	return c, nil
}

// WorkFolder returns the work folder of a node, of a cluster that has a folder.
func (c *Cluster) WorkFolder(number int) string {
	return filepath.Join(c.Dir(), workFolder, c.Name(NodeMonitor, number))
}

// workFolder is where the folders of the nodes are, in that of a cluster.
const workFolder = "work"

func (c *Cluster) folder() (err error) {
	dir := c.spec.Dir
	if dir == "" {
		c.temp = true
		dir, err = os.MkdirTemp("", "pigeon-cluster-")
		if err == nil && os.Geteuid() == 0 { // tasks of other users pass it on the way to their folders
			err = os.Chmod(dir, files.Passable)
		}
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil && os.Geteuid() == 0 { // so that the umask does not close it
		work := filepath.Join(dir, workFolder)
		err = errors.Join(os.MkdirAll(work, files.Passable), os.Chmod(work, files.Passable))
	}
	if err != nil {
		return fmt.Errorf("the cluster has no folder for its data: %w; nothing was started; name one that can be written", err)
	}
	c.places.dir = dir
	return nil
}

// Frontends returns the addresses of the frontends for applications, host:port, by number.
func (c *Cluster) Frontends() []string { return c.body.frontends() }

// Web returns where the frontends serve their status, host:port, by number; "" when
// off.
func (c *Cluster) Web() []string { return c.body.web() }

// Place is a node and an address of it.
type Place struct {
	Node    string `json:"node"`    // its name
	Address string `json:"address"` // host:port
}

// Backends returns where backend processes of applications register, by node. It is
// nil for a cluster of processes, whose nodes take free ports.
func (c *Cluster) Backends() []Place { return c.body.backends() }

// NATS returns the URL of the cluster's NATS server, without the secret that admits the
// cluster's daemons; "" without one.
func (c *Cluster) NATS() string { return strings.ReplaceAll(notice.Redact(c.places.nats), "***@", "") }

// Dir returns the cluster's folder.
func (c *Cluster) Dir() string { return c.places.dir }

// Histories returns the files that the frontends write, by number; nil unless the
// spec asks for them.
func (c *Cluster) Histories() []string {
	if !c.spec.History {
		return nil
	}
	files := make([]string, c.spec.frontends())
	for i := range files {
		files[i] = historyFile(c.places.dir, i)
	}
	return files
}

// Failed receives the error of the first daemon that ended without being stopped.
func (c *Cluster) Failed() <-chan error { return c.failed }

func (c *Cluster) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

// Kill ends a process at once, without warning, and returns when it has ended:
// SIGKILL to number i of a role. Nodes are numbered through the groups. Only
// processes can be killed.
func (c *Cluster) Kill(r Role, i int) error { return c.member(r, i, (*member).kill) }

// Lose kills a process and removes what its machine had on its disk. Restart then starts
// another machine in its place.
func (c *Cluster) Lose(r Role, i int) error {
	return c.member(r, i, func(m *member) error {
		guards := childproc.Children(m.pid())
		err := m.kill()
		for _, pid := range guards { // it outlives its node monitor, which this machine does not
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		for _, folder := range m.folders {
			err = errors.Join(err, os.RemoveAll(folder))
		}
		return err
	})
}

// Restart starts a process again that was killed, with its former settings. It
// does not wait until it is ready.
func (c *Cluster) Restart(r Role, i int) error {
	return c.member(r, i, func(m *member) error { return m.start(c.body.(*processes).group, c.fail) })
}

// Pause suspends a process, as if its machine hung: SIGSTOP to number i of a role.
// Processes that it has started keep running. Only processes can be paused.
func (c *Cluster) Pause(r Role, i int) error {
	return c.member(r, i, (*member).pause)
}

// Resume continues a paused process.
func (c *Cluster) Resume(r Role, i int) error {
	return c.member(r, i, (*member).resume)
}

// Terminate asks a process to stop: SIGTERM to number i of a role. It does not wait for
// the end.
func (c *Cluster) Terminate(r Role, i int) error {
	return c.member(r, i, func(m *member) error { return m.signal(syscall.SIGTERM, true) })
}

// Failure returns how the last process that was number i of a role ended, with the end of its log;
// nil while it runs.
func (c *Cluster) Failure(r Role, i int) (failure error) {
	if err := c.member(r, i, func(m *member) error { failure = m.failure(); return nil }); err != nil {
		return err
	}
	return failure
}

// HandOver asks node monitor number i to leave its running attempts to its next process
// and to stop: SIGUSR2. It does not wait for the end; Restart starts the next one.
func (c *Cluster) HandOver(i int) error {
	return c.member(NodeMonitor, i, func(m *member) error { return m.signal(syscall.SIGUSR2, true) })
}

// Pid returns the number of the process that is number i of a role, 0 when it does not
// run.
func (c *Cluster) Pid(r Role, i int) (pid int) {
	_ = c.member(r, i, func(m *member) error { pid = m.pid(); return nil }) // a member that does not exist does not run
	return pid
}

// Count returns the number of processes of a role, whether they run or not.
func (c *Cluster) Count(r Role) int {
	if p, ok := c.body.(*processes); ok {
		return len(p.members[r])
	}
	return 0
}

// Name returns the name of number i of a role, "" when there is none.
func (c *Cluster) Name(r Role, i int) (name string) {
	_ = c.member(r, i, func(m *member) error { name = m.command.Name; return nil }) // as described
	return name
}

// member calls do with the process that is number i of a role.
func (c *Cluster) member(r Role, i int, do func(*member) error) error {
	p, ok := c.body.(*processes)
	if !ok {
		return errOneProcess
	}
	if i < 0 || i >= len(p.members[r]) {
		return fmt.Errorf("the cluster has no %s number %d, it has %d", r, i, len(p.members[r]))
	}
	return do(p.members[r][i])
}

// HTTP returns where number i of a role serves its status, host:port; "" when that is
// off, or in another isolation than Process.
func (c *Cluster) HTTP(r Role, i int) (at string) {
	_ = c.member(r, i, func(m *member) error { at = m.http; return nil }) // a member that does not exist serves nothing
	return at
}

// StartClient starts a process that uses the cluster. It must have ended before Close.
// Only a cluster of processes starts clients.
func (c *Cluster) StartClient(command childproc.Command) (*childproc.Process, error) {
	p, ok := c.body.(*processes)
	if !ok {
		return nil, errOneProcess
	}
	return p.group.Start(command)
}

// Gatherer returns the metrics of all daemons, each with its name as the label instance.
// It is nil where they are processes, which serve their own (HTTP).
func (c *Cluster) Gatherer() prometheus.Gatherer { return c.body.gatherer() }

// Usage returns what the daemons used since their start.
func (c *Cluster) Usage() (Usage, error) { return c.body.usage() }

// Close ends the cluster and returns when none of its processes and temporary files
// is left. It is safe to call twice.
func (c *Cluster) Close() error { return c.Finish(nil) }

// Finish is Close; in between, when the files of the daemons are complete and a
// temporary folder is not yet removed, it calls read. read may be nil; a second call
// does nothing.
func (c *Cluster) Finish(read func() error) error {
	c.closing.Do(func() {
		c.closeErr = c.body.stop()
		if read != nil {
			c.closeErr = errors.Join(c.closeErr, read())
		}
		if c.temp {
			c.closeErr = errors.Join(c.closeErr, os.RemoveAll(c.places.dir))
		}
	})
	return c.closeErr
}
