package childproc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// Command describes a process.
type Command struct {
	Name string // for errors
	Argv []string
	Env  []string // the whole environment; nil is that of this program
	Dir  string   // its working directory; "" is that of this program
	// Log is a file to which standard output and standard error are appended, as far
	// as they have no writer; "" keeps only the end of them, in memory.
	Log            string
	Stdin          io.Reader // nil: empty
	Stdout, Stderr io.Writer
	// Watchdog makes a second process lead the process group, and kill it when this program
	// has ended: for programs that replace themselves, and lose the parent-death signal.
	Watchdog bool
}

// waitDelay bounds how long outputs are read after the end of a process: its
// children may hold them open.
const waitDelay = time.Second

// Group starts processes, and ends with Close those that still run. Its methods may
// be called from any goroutine.
type Group struct {
	spawner *spawner
	mu      sync.Mutex
	all     []*Process
}

// NewGroup returns a new group without processes.
func NewGroup() *Group { return &Group{spawner: newSpawner()} }

// Start starts a process.
func (g *Group) Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:gosec,noctx // the caller's program; Stop ends it
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Env, c.Dir, c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr, cmd.WaitDelay = attributes(), waitDelay
	p := &Process{name: c.Name, log: c.Log, cmd: cmd, exited: make(chan struct{})}
	var log io.Writer = &p.tail
	if c.Log != "" {
		file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%s was not started: %w", c.Name, err)
		}
		defer file.Close() //nolint:errcheck // the process has its own descriptor
		log = file
	}
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	if cmd.Stderr == nil {
		cmd.Stderr = log
	}
	if c.Watchdog {
		w, err := startWatchdog()
		if err != nil {
			return nil, fmt.Errorf("%s was not started: its watchdog: %w", c.Name, err)
		}
		p.watchdog, p.group, cmd.SysProcAttr.Pgid = w, w.group(), w.group()
	}
	if err := g.spawner.start(cmd); err != nil {
		if p.watchdog != nil {
			err = errors.Join(err, p.watchdog.release())
		}
		return nil, fmt.Errorf("%s was not started: %w", c.Name, err)
	}
	if p.watchdog == nil {
		p.group = p.Pid()
	}
	g.mu.Lock()
	g.all = append(g.all, p)
	g.mu.Unlock()
	go g.wait(p)
	return p, nil
}

// wait waits for the end of a process.
func (g *Group) wait(p *Process) {
	p.err = p.cmd.Wait()
	if p.watchdog != nil {
		_ = p.watchdog.release() // it is needed only while the process runs
	}
	g.mu.Lock()
	g.all = slices.DeleteFunc(g.all, func(other *Process) bool { return other == p })
	g.mu.Unlock()
	close(p.exited)
}

// Close stops the processes that still run, the last one first, and returns when they
// have ended. Each has the time given before it is killed. Nothing may be started
// afterwards.
func (g *Group) Close(within time.Duration) {
	for {
		g.mu.Lock()
		n := len(g.all)
		if n == 0 {
			g.mu.Unlock()
			g.spawner.close()
			return
		}
		last := g.all[n-1]
		g.mu.Unlock()
		last.Stop(within)
	}
}
