package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// Register lets this program start clusters of processes; each process is this program
// again with a role as its verb. Call it first in main or TestMain, when the program runs
// the daemon of each role; without it such a cluster is refused.
func Register() {
	childproc.Register(string(NATS), string(Frontend), string(Master), string(NodeMonitor))
}

// command returns the command and the environment of a daemon.
func (s *Spec) command(r Role, args []string) (argv, env []string, err error) {
	env = s.environment()
	if len(s.Command) > 0 {
		return slices.Concat(s.Command, []string{string(r)}, args), env, nil
	}
	if s.Program != "" {
		return slices.Concat([]string{s.Program, string(r)}, args), env, nil
	}
	argv, startedAs, err := childproc.OwnProgram(string(r), "cluster.Register()")
	return append(argv, args...), childproc.Marked(env, startedAs), err
}

// at returns where number i of a role listens on a port of this machine's loopback, or on
// its own host.
func (s *Spec) at(r Role, i int, onLoopback string) string {
	if s.Network == nil {
		return onLoopback
	}
	_, port, err := net.SplitHostPort(onLoopback)
	if err != nil {
		return onLoopback
	}
	return net.JoinHostPort(s.Network.Host(r, i), port)
}

// environment returns the environment of daemons, without this program's own settings
// for Pigeon.
func (s *Spec) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PIGEON_") {
			env = append(env, v)
		}
	}
	return append(env, s.Env...)
}

// member is one daemon that is a process, over all its incarnations.
type member struct {
	command childproc.Command
	http    string // where it serves its status, "" when off
	folders []string

	mu       sync.Mutex
	process  *childproc.Process // the last incarnation, nil before the first
	stopping bool               // the end of that incarnation is expected
	again    int                // times that it was started again while the cluster started
	past     childproc.Usage    // of former incarnations
}

// add starts a daemon, which is a further member of its role.
func (p *processes) add(r Role, d daemonSpec, args ...string) error {
	argv, env, err := p.c.spec.command(r, args)
	if err != nil {
		return err
	}
	if n := p.c.spec.Network; n != nil {
		argv = n.Command(r, len(p.members[r]), argv)
	}
	m := &member{http: d.http, folders: d.folders, command: childproc.Command{
		Name: d.name, Argv: argv, Env: env,
		Log: filepath.Join(p.c.places.dir, "logs", d.name+".log"), Dir: p.c.places.dir,
	}}
	p.members[r] = append(p.members[r], m)
	return m.start(p.group, p.c.fail)
}

// start starts an incarnation; failed is called when it ends without being stopped.
func (m *member) start(group *childproc.Group, failed func(error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alive() {
		return fmt.Errorf("%s runs already; kill it first", m.command.Name)
	}
	if m.process != nil {
		u, err := m.process.Usage()
		if err != nil {
			return err
		}
		m.past = m.past.Then(u)
	}
	process, err := group.Start(m.command)
	if err != nil {
		return err
	}
	m.process, m.stopping = process, false
	go m.watch(process, failed)
	return nil
}

// watch waits for the end of an incarnation.
func (m *member) watch(process *childproc.Process, failed func(error)) {
	<-process.Exited()
	m.mu.Lock()
	unasked := m.process == process && !m.stopping
	m.mu.Unlock()
	if unasked {
		failed(process.Failure())
	}
}

// alive reports whether an incarnation runs; the caller holds the lock.
func (m *member) alive() bool { return m.process != nil && m.process.Running() }

// failure returns how the last incarnation ended, nil while it runs.
func (m *member) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil || m.process.Running() {
		return nil
	}
	return m.process.Failure()
}

// running reports whether an incarnation runs.
func (m *member) running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive()
}

// pid returns the number of the running incarnation, 0 when none runs.
func (m *member) pid() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.alive() {
		return 0
	}
	return m.process.Pid()
}

// signal sends a signal to an incarnation that runs, and not to its children.
// If stopping is set, its end is expected.
func (m *member) signal(s syscall.Signal, stopping bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.alive() {
		return fmt.Errorf("%s does not run", m.command.Name)
	}
	m.stopping = m.stopping || stopping
	return m.process.Signal(s)
}

func (m *member) kill() error {
	err := m.signal(syscall.SIGKILL, true)
	if err == nil {
		<-m.process.Exited()
	}
	return err
}

func (m *member) pause() error  { return m.signal(syscall.SIGSTOP, false) }
func (m *member) resume() error { return m.signal(syscall.SIGCONT, false) }

// stop asks the daemon to stop.
func (m *member) stop() { _ = m.signal(syscall.SIGTERM, true) } // one that has ended has stopped

// awaitStop waits until the daemon has ended, and kills it at the deadline.
func (m *member) awaitStop(deadline time.Time) error {
	if m.process == nil || m.process.Wait(time.Until(deadline)) {
		return nil
	}
	_ = m.kill() // it may have ended by now
	return fmt.Errorf("%s did not stop within %v and was killed; its log is %s", m.command.Name, stopWithin, m.command.Log)
}

func (m *member) usage() (childproc.Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return m.past, nil
	}
	u, err := m.process.Usage()
	return m.past.Then(u), err
}

func (p *processes) usage() (sum Usage, err error) {
	for _, list := range p.members {
		for _, m := range list {
			u, e := m.usage()
			err = errors.Join(err, e)
			sum.CPU += u.CPU
			sum.RSSMax += u.RSSMax
		}
	}
	return sum, err
}
