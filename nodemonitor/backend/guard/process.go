package guard

import (
	"encoding/gob"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/internal/childproc"
)

// patience is how long a guard may take to read a request, or to end, before it
// is killed.
const patience = 10 * time.Second

// instance is one guard process, as its client sees it.
type instance struct {
	cmd  *exec.Cmd
	conn net.Conn
	enc  *gob.Encoder  // used by send alone
	gone chan struct{} // closed when receive has ended
	dead bool          // guarded by Client.mu
}

// spawn starts a guard, in a session of its own so that a Ctrl-C at the terminal
// does not reach it before the node monitor has acted on it.
func (c *Client) spawn() (*instance, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // the guard has its copy
	cmd := exec.Command(c.opts.Command[0], c.opts.Command[1:]...)
	cmd.ExtraFiles = []*os.File{theirs} // becomes socketFD
	cmd.Stderr, cmd.Env = os.Stderr, childproc.Marked(os.Environ(), c.startedAs)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = ours.Close() // nothing was sent
		return nil, err
	}
	if c.opts.Started != nil {
		c.opts.Started(cmd.Process.Pid)
	}
	g := &instance{cmd: cmd, conn: ours, enc: gob.NewEncoder(ours), gone: make(chan struct{})}
	go c.receive(g)
	return g, nil
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

// receive delivers a guard's events until the guard is gone, and then ends what it left
// behind.
func (c *Client) receive(g *instance) {
	defer close(g.gone)
	dec := gob.NewDecoder(g.conn)
	for {
		var e Event
		if dec.Decode(&e) != nil {
			break
		}
		c.deliver(e)
	}
	_ = g.conn.Close() // also when the guard sent something unreadable: without its socket it ends
	how := "it ended"
	if err := g.cmd.Wait(); err != nil {
		how = err.Error()
		killMarked(c.token + ".") // before another guard can start anything
	}
	c.mu.Lock()
	g.dead = true
	c.mu.Unlock()
	c.abandon(g, &Fault{
		What: "the guard process that ran it went away (" + how + ")",
		Next: "see the node's system log (out of memory?); the attempt is tried again",
	})
}

// write sends a request. A guard that does not read it is killed: receive then ends what
// it ran.
func (g *instance) write(r *request) {
	_ = g.conn.SetWriteDeadline(time.Now().Add(patience)) // fails only on a closed socket, as the write then does
	if g.enc.Encode(r) != nil {
		_ = g.cmd.Process.Kill() // it may have ended already
	}
}

// close lets the guard end and waits for it.
func (g *instance) close() {
	_ = g.conn.Close() // the guard reads end-of-file
	overdue := time.AfterFunc(patience, func() { _ = g.cmd.Process.Kill() })
	<-g.gone
	overdue.Stop()
}

// killMarked kills every process that carries a mark with the prefix, until none is
// found. Only a guard that was itself killed leaves any.
func killMarked(prefix string) {
	for range 100 { // against a process that forks faster than it is killed
		found := false
		for _, pid := range pids() {
			if strings.HasPrefix(markOf(pid), prefix) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
			}
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
