package guard

import (
	"bufio"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// patience is how long a guard may take to end, before it is killed.
const patience = 10 * time.Second

// instance is one guard process, as its client sees it.
type instance struct {
	process guardProcess
	conn    net.Conn
	in      *bufio.Reader // of conn; used by receive alone
	out     []byte        // requests to be written; used by send alone
	broken  bool          // part of a request may be missing: nothing more is written; likewise
	gone    chan struct{} // closed when receive has ended
	follow  func()        // starts the delivery of the events of a guard that was adopted
	left    atomic.Bool   // the connection ends, the guard does not
	killed  bool          // it did not end by itself; receive has it
	closing atomic.Bool   // it is told to end
	answers chan struct{} // holds one
	// Guarded by Client.mu.
	dead bool
}

// guardProcess is the process of a guard: a child of this one, or of its predecessor.
type guardProcess interface {
	pid() int
	kill()
	// wait returns when the process has ended; the error is how, nil for an orderly end.
	wait() error
}

// ownGuard is a guard that this process has started.
type ownGuard struct{ cmd *exec.Cmd }

func (p ownGuard) pid() int    { return p.cmd.Process.Pid }
func (p ownGuard) kill()       { _ = p.cmd.Process.Kill() } // it may have ended already
func (p ownGuard) wait() error { return p.cmd.Wait() }

// spawn starts a guard, in a session of its own so that a Ctrl-C at the terminal
// does not reach it before the node monitor has acted on it.
func (c *Client) spawn() (*instance, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	files := []*os.File{theirs} // becomes socketFD
	defer func() {
		for _, f := range files {
			_ = f.Close() // the guard has its copy
		}
	}()
	if c.opts.Grace > 0 {
		l, err := listen(c.opts.Folder)
		if err != nil {
			return nil, errors.Join(err, ours.Close())
		}
		files = append(files, l) // becomes listenFD
	}
	cmd := exec.Command(c.opts.Command[0], c.opts.Command[1:]...)
	cmd.ExtraFiles = files
	cmd.Stderr, cmd.Env = os.Stderr, childproc.Marked(os.Environ(), c.startedAs)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = ours.Close() // nothing was sent
		return nil, err
	}
	if c.opts.Started != nil {
		c.opts.Started(cmd.Process.Pid)
	}
	g := newInstance(ownGuard{cmd}, ours)
	hello := c.greeting()
	hello.Token, hello.Grace = c.token, c.opts.Grace
	g.greet(hello)
	if kept := c.lastKept(); kept != nil {
		g.write(&request{Op: opKeep, Kept: kept})
	}
	c.mu.Lock()
	c.serving = g
	c.mu.Unlock()
	go c.receive(g)
	return g, nil
}

func newInstance(p guardProcess, conn net.Conn) *instance {
	return &instance{process: p, conn: conn, in: bufio.NewReader(conn), gone: make(chan struct{}), answers: make(chan struct{}, 1), follow: func() {}}
}

func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "guard")
	defer func() { _ = ours.Close() }() // FileConn has its own copy
	theirs := os.NewFile(uintptr(fds[1]), "guard")
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close() // never used
		return nil, nil, err
	}
	return conn, theirs, nil
}

// socketName is the name of the socket at which a guard waits for its next client.
const socketName = "guard.socket"

// inFolder calls use with a short path of the socket in a folder: that of a socket has 107
// bytes at most.
func inFolder(folder string, use func(path string) error) error {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: folder, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	return use(filepath.Join("/proc/self/fd", strconv.Itoa(fd), socketName))
}

// listen makes the socket in a folder, for this user only.
func listen(folder string) (f *os.File, err error) {
	err = inFolder(folder, func(path string) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // the guard listens
		defer func() { _ = l.Close() }()
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		f, err = l.File()
		return err
	})
	return f, err
}

// receive delivers a guard's events until the guard is gone, and then ends what it left
// behind.
func (c *Client) receive(g *instance) {
	defer close(g.gone)
	go c.watch(g)
	var buf []byte
	for {
		var err error
		if buf, err = readFrame(g.in, buf); err != nil {
			break
		}
		var e Event
		if decode(&e, buf) != nil {
			break
		}
		switch g.answered(); e.Kind {
		case Alive:
		case Stray:
			c.stray(&e)
		default:
			c.deliver(e)
		}
	}
	_ = g.conn.Close() // also when the guard sent something unreadable: without its socket it ends
	if g.left.Load() {
		go func() { _ = g.process.wait() }() // it ends by itself, later
		return
	}
	how := "it ended"
	if err := g.process.wait(); err != nil {
		how, g.killed = err.Error(), true
		killMarked(c.token + ".") // before another guard can start anything
	}
	c.mu.Lock()
	g.dead = true
	c.mu.Unlock()
	c.abandon(g, &Fault{
		What: "the guard process that ran it went away (" + how + ")",
		Next: "see the node's system log (out of memory?); the attempt is tried again",
	})
	c.guardEnded(g, how)
}

// greet sends the first message.
func (g *instance) greet(m greeting) { g.broken = gob.NewEncoder(g.conn).Encode(m) != nil }

// sendAtOnce is how many bytes of requests are gathered.
const sendAtOnce = 64 << 10

// write sends a request, at the latest with the next flush.
func (g *instance) write(r *request) {
	var err error
	if g.out, err = appendFrame(g.out, r); err != nil {
		g.broken = true
	} else if len(g.out) >= sendAtOnce {
		g.flush()
	}
}

// flush sends what was written. It waits for a guard that does not read, which is not killed for that: c.watch
// reports it.
func (g *instance) flush() {
	if len(g.out) == 0 {
		return
	}
	if !g.broken {
		_, err := g.conn.Write(g.out)
		g.broken = err != nil // it is gone, or receive finds that
	}
	if g.out = g.out[:0]; cap(g.out) > 4*sendAtOnce {
		g.out = nil
	}
}

// close lets the guard end and waits for it, but not for a disk that holds up its end.
func (g *instance) close() {
	g.closing.Store(true)
	_ = g.conn.SetWriteDeadline(time.Now().Add(patience)) // it fails on a closed socket, to which nothing is written
	g.write(&request{Op: opEnd})
	g.flush()
	_ = g.conn.Close() // the guard reads end-of-file
	g.follow()
	overdue := time.AfterFunc(patience, g.process.kill)
	defer overdue.Stop()
	select {
	case <-g.gone:
	case <-time.After(patience + time.Second): // the kernel ends it when a disk answers that hangs
	}
}

// leave lets the guard wait for the next client.
func (g *instance) leave() {
	g.left.Store(true)
	_ = g.conn.Close() // the guard reads end-of-file
	g.follow()
	<-g.gone
}
