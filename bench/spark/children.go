package spark

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// children are processes that end with this one. Each is the head of a process
// group, which is ended with it: executors of Spark standalone are in the group of
// their worker.
//
// One goroutine, bound to its thread from newChildren to close, starts all of
// them: the death signal of a process comes when the thread that started it ends.
type children struct {
	dir  string // of logs
	env  []string
	work chan func()
	gone chan struct{}

	mu   sync.Mutex
	list []*child
}

// child is a process. What it writes to standard error is in its log.
type child struct {
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{} // closed when it is gone
	err       error         // of its end; read it after exited
}

func newChildren(dir string, env []string) *children {
	c := &children{dir: dir, env: env, work: make(chan func()), gone: make(chan struct{})}
	go func() {
		defer close(c.gone)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for do := range c.work {
			do()
		}
	}()
	return c
}

// start starts a program. stdout may be nil: then it goes to the log too.
func (c *children) start(name string, argv []string, stdin io.Reader, stdout io.WriteCloser) (*child, error) {
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stderr, cmd.Stdout = c.env, stdin, log, log
	if stdout != nil {
		cmd.Stdout = stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	done := make(chan error)
	c.work <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, fmt.Errorf("%s was not started: %w", name, err)
	}
	p := &child{name: name, log: log.Name(), cmd: cmd, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		if stdout != nil {
			_ = stdout.Close() // who reads it sees the end
		}
		close(p.exited)
	}()
	c.mu.Lock()
	c.list = append(c.list, p)
	c.mu.Unlock()
	return p, nil
}

// close ends all of them, the last ones first, and returns when they are gone.
func (c *children) close() {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.mu.Unlock()
	for i := range list {
		list[len(list)-1-i].end(grace)
	}
	close(c.work)
	<-c.gone
}

// grace is how long a process may take to stop before it is killed.
const grace = 10 * time.Second

// end asks the process to stop, and kills what is left of its group.
func (p *child) end(within time.Duration) {
	p.ask()
	p.await(within)
}

// ask asks the process and its group to stop.
func (p *child) ask() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) // it may be gone
}

// await waits for the end of the process, and kills what is left of its group
// then, or when the time is over.
func (p *child) await(within time.Duration) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // likewise
	<-p.exited
}

// failure returns how the process ended, with the end of its log.
func (p *child) failure() error {
	return fmt.Errorf("%s ended by itself: %w; its log %s ends:\n%s", p.name, errors.Join(p.err, errUnasked), p.log, tail(p.log))
}

var errUnasked = errors.New("nobody asked it to")

// tailBytes is how much of a log an error repeats.
const tailBytes = 1500

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-tailBytes):]))
}
