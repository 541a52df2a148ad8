package guard

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Adoption is what a guard has kept for a client that is not its first one.
type Adoption struct {
	Kept []byte // what the former client had kept last
	Held []Held
}

// RefusedError is returned when there is a guard that does not serve this client.
type RefusedError struct {
	Why  string
	Ends bool   // the guard ends, with all that it runs
	Kept []byte // when it ends: what the former client had kept
}

// Error implements error.
func (e *RefusedError) Error() string {
	return "the guard of the former node monitor refused this one: " + e.Why
}

// Adopt connects to the guard of a former client, if one waits in the folder; nil when none
// does. A guard that was killed after its client has left processes that nobody else would end: Adopt kills them.
// Only one client at a time has a folder. Before anything else, each process that it returns must be claimed, and
// Follow called.
func (c *Client) Adopt() (*Adoption, error) {
	var conn net.Conn
	err := inFolder(c.opts.Folder, func(path string) (err error) {
		conn, err = net.DialTimeout("unix", path, patience)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		if family := c.opts.family(); family != "" {
			killMarked(family)
		}
		return nil, nil //nolint:nilnil // there is no guard
	case err != nil:
		return nil, err
	}
	peer, err := credentials(conn)
	if err == nil && int(peer.Uid) != os.Getuid() {
		err = fmt.Errorf("the socket in %s belongs to a process of user %d", c.opts.Folder, peer.Uid)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	a, err := c.adopt(newInstance(nil, conn))
	if err != nil {
		_ = conn.Close() // the error has the reason
	}
	return a, err
}

func (c *Client) adopt(g *instance) (*Adoption, error) {
	_ = g.conn.SetDeadline(time.Now().Add(c.patience)) // fails only on a closed socket, as the calls below then do
	if err := gob.NewEncoder(g.conn).Encode(c.greeting()); err != nil {
		return nil, err
	}
	var w welcome
	dec := gob.NewDecoder(g.in)
	switch err := dec.Decode(&w); {
	case errors.Is(err, os.ErrDeadlineExceeded): // what it runs may still run
		return nil, fmt.Errorf("the guard of the former node monitor has not answered within %v: see whether it is stopped, or its machine is overloaded", c.patience)
	case err != nil:
		return nil, &RefusedError{Why: "it ended: " + err.Error(), Ends: true} // its grace was over
	}
	p, err := openFormer(w.Pid)
	if err != nil && !w.Ends {
		return nil, err
	}
	if w.Ends && err == nil { // what it runs ends with it
		overdue := time.AfterFunc(patience, p.kill)
		defer overdue.Stop()
		_ = p.wait() // how it ended does not matter
	}
	if w.Refused != "" {
		p.close()
		return nil, &RefusedError{w.Refused, w.Ends, w.Kept}
	}
	g.process = p
	a := &Adoption{Kept: w.Kept, Held: make([]Held, w.Held)}
	for i := range a.Held {
		if err := dec.Decode(&a.Held[i]); err != nil {
			p.close()
			return nil, err
		}
	}
	_ = g.conn.SetDeadline(time.Time{}) // likewise
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.last, c.kept, c.adopted, c.serving = w.Token, w.Last, w.Kept, g, g
	for i := range a.Held {
		c.running[a.Held[i].Handle] = &attempt{on: func(Event) {}, guard: g}
	}
	followed := make(chan struct{})
	g.follow = sync.OnceFunc(func() { close(followed) })
	go func() { <-followed; c.receive(g) }()
	return a, nil
}

// Claim delivers the events of a process of a former client, which the subject names, to on; an end that the guard has
// kept is the first one.
func (c *Client) Claim(h Handle, subject string, on func(Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.running[h]; a != nil {
		a.on, a.subject = on, subject
	}
}

// Follow starts the delivery of the events of the guard that was adopted.
func (c *Client) Follow(a *Adoption) {
	c.mu.Lock()
	g := c.adopted
	c.mu.Unlock()
	for i := range a.Held {
		if e := a.Held[i].End; e != nil {
			c.deliver(*e)
		}
	}
	g.follow()
}

// Keep makes the guard keep data for the next client, in place of what was kept before.
func (c *Client) Keep(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = data
	if c.opts.Grace > 0 && !c.ended {
		c.enqueue(request{Op: opKeep, Kept: data})
	}
}

func (c *Client) lastKept() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept
}

// Leave ends the client and leaves running processes to the guard, for the next client. Events
// that were not delivered by then go to the next client. Without a grace it is Close.
func (c *Client) Leave() {
	if c.opts.Grace == 0 {
		c.Close(0)
		return
	}
	c.mu.Lock()
	c.closed, c.left = true, true
	c.end()
	c.mu.Unlock()
	c.ready.Broadcast()
	<-c.gone
}

// current returns the guard in use: that of a former client until another is started.
func (c *Client) current(g *instance) *instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g == nil {
		g = c.adopted
	}
	return g
}

// formerGuard is a guard that another process has started.
type formerGuard struct {
	number int
	mu     sync.Mutex
	fd     int // -1 when it has ended
}

func openFormer(pid int) (*formerGuard, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d, the guard, cannot be watched (a kernel from 5.3 is needed): %w", pid, err)
	}
	return &formerGuard{number: pid, fd: fd}, nil
}

func (p *formerGuard) pid() int { return p.number }

func (p *formerGuard) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) // it may have ended already
	}
}

func (p *formerGuard) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.Close(p.fd) // only watched
	}
	p.fd = -1
}

// wait always returns an error: only the parent of the process learns how it ended.
func (p *formerGuard) wait() error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, -1) //nolint:gosec // a descriptor
		if err == nil && n > 0 {
			p.close()
			return errors.New("it ended, and a former node monitor had started it")
		}
		if err != nil && err != unix.EINTR {
			return err
		}
	}
}
