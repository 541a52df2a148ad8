package reuther

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// mark is in the environment of all processes of a place; its value is the place's folder.
const mark = "PIGEON_BENCH_PEER"

const (
	readyWithin = 2 * time.Minute  // the start of a daemon
	stopWithin  = 10 * time.Second // its end, before it is killed
)

// place is where the daemons of a peer live: a temporary folder that only they use, their
// processes, and what those started.
type place struct {
	dir     string
	env     []string // of daemons and commands
	daemons *childproc.Group
	running []*childproc.Process
}

// newPlace makes the folder. env is added to the environment of all processes; @ in it
// stands for the folder.
func newPlace(env ...string) (*place, error) {
	dir, err := os.MkdirTemp("", "pigeon-peer-")
	if err != nil {
		return nil, err
	}
	// Daemons that run as another user pass through it; it cannot be listed.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &place{dir: dir, env: append(os.Environ(), mark+"="+dir), daemons: childproc.NewGroup()}
	for _, e := range env {
		p.env = append(p.env, strings.ReplaceAll(e, "@", dir))
	}
	return p, nil
}

// path returns a path in the folder.
func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// daemon starts a process that runs until close. Its output is in the file name.log.
func (p *place) daemon(name string, argv ...string) (*childproc.Process, error) {
	d, err := p.daemons.Start(childproc.Command{Name: name, Argv: argv, Env: p.env, Dir: p.dir, Log: p.path(name + ".log"), Watchdog: true})
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
	cmd.Env, cmd.Dir, cmd.WaitDelay = p.env, p.dir, stopWithin
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

// until polls, until the condition holds.
func (p *place) until(ctx context.Context, what string, holds func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("not within %v", readyWithin))
	defer cancel()
	ctx, free := p.guarded(ctx)
	defer free()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
	return nil
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

// close stops the daemons, kills the processes that they have left running and removes the
// folder. It may be called twice, and on a nil place.
func (p *place) close() error {
	if p == nil || p.dir == "" {
		return nil
	}
	p.daemons.Close(stopWithin)
	err := p.sweep()
	err = errors.Join(err, os.RemoveAll(p.dir))
	p.dir = ""
	return err
}

// sweep kills the processes that have the mark in their environment: those that a daemon
// started in their own sessions, such as the steps of Slurm's jobs.
func (p *place) sweep() error {
	wanted := []byte(mark + "=" + p.dir + "\x00")
	for end := time.Now().Add(stopWithin); ; time.Sleep(10 * time.Millisecond) {
		found := 0
		paths, _ := filepath.Glob("/proc/[0-9]*/environ") // none on another system
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, wanted) {
				continue // it has ended, or is another user's
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil || pid == os.Getpid() {
				continue
			}
			found = pid
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		switch {
		case found == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("process %d, which a peer started, still runs after it was killed", found)
		}
	}
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

// freePort returns a port of 127.0.0.1 on which nothing listens.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}
