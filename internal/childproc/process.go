package childproc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Process is a process that was started. Its methods may be called from any goroutine.
type Process struct {
	name     string
	log      string // file, "" for none
	tail     Tail   // the end of the outputs where there is no log
	cmd      *exec.Cmd
	group    int           // number of its process group
	watchdog *watchdog     // nil: none
	exited   chan struct{} // closed when it has ended
	err      error         // of its end; read it after exited
}

// Pid returns the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended and its outputs are complete.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Err waits for the end of the process and returns its error; nil for status 0.
func (p *Process) Err() error {
	<-p.exited
	return p.err
}

// Status returns the exit status, 128 + n after signal n, and -1 while the process runs.
func (p *Process) Status() int {
	if p.Running() {
		return -1
	}
	if w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process alone. It does nothing once the process has ended.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// SignalGroup sends a signal to the process group: the process and its descendants.
func (p *Process) SignalGroup(s syscall.Signal) {
	_ = syscall.Kill(-p.group, s) // the group may have ended
}

// Kill kills the process and its descendants, and returns when it has ended.
func (p *Process) Kill() {
	p.SignalGroup(syscall.SIGKILL)
	<-p.exited
}

// Stop asks the process group to stop, and kills the rest of it when the process has
// ended or the time is over.
func (p *Process) Stop(within time.Duration) {
	p.SignalGroup(syscall.SIGTERM)
	p.Wait(within)
	p.Kill()
}

// Wait waits for the end of the process, and reports whether it came within the time.
func (p *Process) Wait(within time.Duration) bool {
	timer := time.NewTimer(max(within, 0))
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// Failure waits for the end of a process that should have kept running, and returns how
// it ended, with the end of its log.
func (p *Process) Failure() error {
	return fmt.Errorf("%s ended by itself (%w); %s", p.name, cmp.Or(p.Err(), ErrUnasked), p.LogEnd())
}

// ErrUnasked is why the end of a process with status 0 is a failure.
var ErrUnasked = errors.New("it was not asked to stop")

// LogTail returns the end of the process's log.
func (p *Process) LogTail() string {
	if p.log == "" {
		return p.tail.String()
	}
	return fileTail(p.log)
}

// LogEnd returns the end of the log for an error: where it is and its last lines,
// which are indented.
func (p *Process) LogEnd() string {
	what, end := "its log", p.LogTail()
	if p.log != "" {
		what += " " + p.log
	}
	if end == "" {
		return what + " is empty"
	}
	return what + " ends:\n  " + strings.ReplaceAll(end, "\n", "\n  ")
}

// logPollEvery is the pause between two looks at a log.
const logPollEvery = 50 * time.Millisecond

// AwaitLog waits until the log matches the pattern, and returns the pattern's last
// group, or the whole match where it has none.
func (p *Process) AwaitLog(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	tick := time.NewTicker(logPollEvery)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(p.log)
		if err != nil {
			return "", err
		}
		if found := pattern.FindSubmatch(text); found != nil {
			return string(found[len(found)-1]), nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return "", p.Failure()
		case <-ctx.Done():
			return "", fmt.Errorf("%s: %w; %s", p.name, context.Cause(ctx), p.LogEnd())
		}
	}
}
