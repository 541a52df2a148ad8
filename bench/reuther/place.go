package reuther

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

const (
	readyWithin = 2 * time.Minute  // the start of a daemon
	stopWithin  = 10 * time.Second // its end, before it is killed
)

// place is where the daemons of a peer live: a temporary folder that only they use, their
// processes, and what those started.
type place struct {
	dir     string
	daemons *childproc.Group
	running []*childproc.Process
}

// newPlace makes the folder.
func newPlace() (*place, error) {
	dir, err := os.MkdirTemp("", "pigeon-peer-")
	if err != nil {
		return nil, err
	}
	// Daemons that run as another user pass through it; it cannot be listed.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &place{dir: dir, daemons: childproc.NewGroup()}, nil
}

// path returns a path in the folder.
func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// daemon starts a process that runs until close. Its output is in the file name.log.
func (p *place) daemon(name string, argv ...string) (*childproc.Process, error) {
	d, err := p.daemons.Start(childproc.Command{Name: name, Argv: argv, Dir: p.dir, Log: p.path(name + ".log"), Watchdog: true})
	if err == nil {
		p.running = append(p.running, d)
	}
	return d, err
}

// daemonThatSays starts a daemon and waits for a line of its log.
func (p *place) daemonThatSays(ctx context.Context, pattern *regexp.Regexp, name string, argv ...string) error {
	d, err := p.daemon(name, argv...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not ready within %v", readyWithin))
	defer cancel()
	_, err = d.AwaitLog(ctx, pattern)
	return err
}

// command runs a command to its end and returns what it wrote to standard output.
func (p *place) command(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = p.dir, stopWithin
	out, err := cmd.Output()
	if err != nil {
		detail := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			detail = ": " + string(bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("%s: %w%s", strings.Join(argv, " "), err, detail)
	}
	return strings.TrimSpace(string(out)), nil
}

// guarded returns a context that ends also when a daemon does, with that as its cause.
func (p *place) guarded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	for _, d := range p.running {
		go func() {
			select {
			case <-d.Exited():
				cancel(d.Failure())
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// close stops the daemons and removes the folder. It may be called twice, and on a nil place.
func (p *place) close() error {
	if p == nil || p.dir == "" {
		return nil
	}
	p.daemons.Close(stopWithin)
	err := os.RemoveAll(p.dir)
	p.dir = ""
	return err
}

// installed returns ErrAbsent for the first of the programs that is not on the path.
func installed(peer, packages string, programs ...string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s %w (no %s): apt-get install %s, or make peers", peer, ErrAbsent, program, packages)
		}
	}
	return nil
}
