package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

func (s *Spec) command() []string {
	if len(s.Command) > 0 {
		return append([]string(nil), s.Command...)
	}
	return []string{"/proc/self/exe"} // also when the file was replaced since
}

// environment leaves the settings of whoever started this program out.
func (s *Spec) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PIGEON_") {
			env = append(env, v)
		}
	}
	return append(env, s.Env...)
}

// process is one daemon, over all its incarnations.
type process struct {
	name string
	args []string
	env  []string
	log  string // file
	dir  string
	http string // where it serves its status, "" when off

	mu     sync.Mutex
	cmd    *exec.Cmd     // of the last incarnation
	exited chan struct{} // closed when it is gone
	asked  bool          // it is meant to end
	past   Usage         // of former incarnations
}

// start starts an incarnation; failed learns when it ends unasked.
func (p *process) start(s *spawner, failed func(error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s runs already; kill it first", p.name)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.SysProcAttr = attributes()
	if err := s.start(cmd); err != nil {
		return fmt.Errorf("%s was not started: %w", p.name, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited, p.asked = cmd, exited, false
	go p.watch(cmd, exited, failed)
	return nil
}

// watch waits for the end of an incarnation.
func (p *process) watch(cmd *exec.Cmd, exited chan struct{}, failed func(error)) {
	err := cmd.Wait()
	p.mu.Lock()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u := usageOf(r)
		p.past.CPU += u.CPU
		p.past.RSSMax = max(p.past.RSSMax, u.RSSMax)
	}
	asked := p.asked
	close(exited)
	p.mu.Unlock()
	if !asked {
		failed(fmt.Errorf("%s ended by itself (%w); its log %s ends: %s", p.name, errors.Join(err, errUnasked), p.log, tail(p.log)))
	}
}

// running needs the lock.
func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// alive reports whether an incarnation runs.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// signal sends a signal to an incarnation that runs, which is then meant to end.
func (p *process) signal(s syscall.Signal) (exited <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return nil, fmt.Errorf("%s does not run", p.name)
	}
	p.asked = true
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return p.exited, nil
}

func (p *process) kill() error {
	exited, err := p.signal(syscall.SIGKILL)
	if err == nil {
		<-exited
	}
	return err
}

// freeze stops it where it is, or has it go on. It is not meant to end by that.
func (p *process) freeze(frozen bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return fmt.Errorf("%s does not run", p.name)
	}
	s := syscall.SIGCONT
	if frozen {
		s = syscall.SIGSTOP
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// ask asks it to stop.
func (p *process) ask() { _, _ = p.signal(syscall.SIGTERM) } // one that is gone needs no asking

// gone waits until it is, and kills it after the time given.
func (p *process) gone(within time.Duration) error {
	p.mu.Lock()
	exited, began := p.exited, p.cmd != nil
	p.mu.Unlock()
	if !began {
		return nil
	}
	timer := time.NewTimer(max(within, 0))
	defer timer.Stop()
	select {
	case <-exited:
		return nil
	case <-timer.C:
	}
	_ = p.kill() // it may have ended by now
	<-exited
	return fmt.Errorf("%s did not stop within %v and was killed; its log is %s", p.name, stopWithin, p.log)
}

func (p *process) usage() (Usage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return p.past, nil
	}
	u, err := usageOfPid(p.cmd.Process.Pid)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return p.past, nil // it ends just now
	}
	u.CPU += p.past.CPU
	u.RSSMax = max(u.RSSMax, p.past.RSSMax)
	return u, err
}

// tailBytes is how much of a log an error repeats.
const tailBytes = 600

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-tailBytes):]))
}
