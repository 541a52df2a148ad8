package guard

import (
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

const (
	pipeWait   = 100 * time.Millisecond // for output that an escaped child may still hold open
	sweepEvery = 50 * time.Millisecond  // search for escaped children at most this often
)

// startsAtOnce is how many processes are started before ends and requests are served again.
const startsAtOnce = 8

// A guard has a backlog while more processes than backlog are ready for their start: a task that comes in
// place of an ended one would only join them. It sends events once in sendsEvery then.
const (
	backlog    = 16
	sendsEvery = 15 * time.Millisecond
)

// A start that takes longer than heldUp waits for something else than a processor. A program that another process is
// writing is tried again after a pause, which becomes longer, and maxBusy times at most: for a second in all.
const (
	heldUp    = 100 * time.Millisecond
	lateStart = time.Second // the client is told then
	busyPause = 5 * time.Millisecond
	maxBusy   = 20
)

const (
	orphansEvery = 1000 // milliseconds; orphans that have ended are reaped at the latest then,
	groupsEvery  = 20   // and after so many while the rest of a group is in its grace
)

// server is the guard's state. One goroutine, locked to its thread, owns it and runs loop; others
// only post functions for it to run.
type server struct {
	poll     *poller
	null     int      // /dev/null, the stdin of a process that takes none
	env      []string // the part of the guard's own that processes have
	signals  []int    // for which this process has handlers
	tags     tags
	open     opener
	peaks    peaks
	tree     *cgroup.Tree   // nil: limits are enforced by rlimits
	removing sync.WaitGroup // of cgroups
	session
	memory

	handles  map[Handle]*child
	starts   []*child // to be started, in the order of their requests
	byPid    map[int]*child
	draining map[*child]bool // the leader has ended by a Kill, others of the group are in their grace
	exits    bool            // children may have ended
	sent     time.Time       // when events were sent last
	signaled bool            // the kernel has no pidfds: ends are known by SIGCHLD
	sweeping bool            // a sweep is due
	retries  int             // how often it may be repeated
	strays   bool            // the last one has found adopted children
	told     map[int]bool    // of adopted children: whether the client knows that they are killed
	laden    bool            // there is a backlog
}

// loop serves until its client ends for good, or is gone for longer than the grace. It starts
// a few processes at a time: an end that is not reported keeps a slot from its next task. With a
// backlog it gathers events, because every message costs each daemon on the way of a task several
// times as much as one more event in it.
func (s *server) loop() {
	for !s.over {
		s.turn()
	}
}

func (s *server) turn() {
	if quiet := s.poll.wait(s.patience()); quiet || s.exits {
		s.exits = false
		s.reap()
	}
	ready := s.startSome()
	s.laden = ready > backlog
	if sendsNow(ready, time.Since(s.sent)) {
		s.send()
	}
}

// sendsNow reports whether events are sent, when so many processes waited for their start and the last events were
// sent that long ago.
func sendsNow(ready int, ago time.Duration) bool { return ready <= backlog || ago >= sendsEvery }

// startSome starts some of the processes that wait for their start, and returns how many of them there were.
func (s *server) startSome() (ready int) {
	ready = len(s.starts)
	now := s.starts[:min(ready, startsAtOnce)]
	s.starts = s.starts[len(now):]
	for _, c := range now {
		s.start(c)
	}
	return ready
}

// send sends what there is to report.
func (s *server) send() {
	if s.link != nil {
		s.link.flush()
	}
	s.sent = time.Now()
}

// patience returns for how many milliseconds the loop may wait, -1 for any time. The signal of the
// end of an orphan interrupts it, except one that comes just before.
func (s *server) patience() int {
	switch {
	case len(s.starts) > 0:
		return 0
	case s.link != nil && s.link.gathers():
		return max(1, int((sendsEvery - time.Since(s.sent)).Milliseconds()))
	case len(s.draining) > 0:
		return groupsEvery
	case len(s.handles) > 0 || s.strays:
		return orphansEvery
	}
	return -1
}

func (s *server) handle(r *request) {
	c := s.handles[r.Handle]
	switch {
	case r.Op == opKeep:
		s.kept = r.Kept
	case r.Op == opEnd:
		s.ending = true
	case r.Op == opPing:
		s.tell(Event{Kind: Alive})
	case r.Op == opStart && c == nil && r.Spec != nil:
		c = &child{handle: r.Handle, mark: r.Mark, spec: r.Spec}
		s.last = max(s.last, r.Handle)
		s.handles[c.handle] = c
		s.starts = append(s.starts, c)
	case c == nil: // it has ended
	case r.Op == opKill:
		s.kill(c, r.Grace)
	case r.Op == opSuspend:
		if c.hold(true); c.birth == nil { // else when it has become its program
			c.signal(syscall.SIGSTOP)
		}
	case r.Op == opInput:
		s.feed(c, r)
	case r.Op == opResume:
		c.hold(false)
		c.signal(syscall.SIGCONT)
	case r.Op == opForget && c.final != nil:
		delete(s.handles, c.handle)
	}
}

// start starts a process. Where that needs more of the file system than to rename a folder next to
// it, it is done concurrently with the loop: a file system that hangs delays only that attempt.
func (s *server) start(c *child) {
	if len(c.spec.Argv) == 0 || c.spec.Argv[0] == "" {
		s.finish(c, c.neverBegan(&Fault{What: "it names no program to run", Next: "give the program and its arguments"}))
		return
	}
	if s.tree != nil && c.spec.Limits.bounded() {
		s.prepare(c, nil)
		return
	}
	p, ok := prepareQuickly(c.spec, s.env, c.mark)
	if !ok {
		s.prepare(c, nil)
		return
	}
	var fault *Fault
	p.confined, fault = confine(s.tree, c.spec.Limits, c.mark)
	s.launch(c, p, fault)
}

// prepare prepares a process on a goroutine; after an earlier try, once the cgroup of that is
// removed, since the next one has its name.
func (s *server) prepare(c *child, earlier *cgroup.Group) {
	tree := s.tree
	go func() {
		if earlier != nil {
			remove(earlier)
		}
		p, fault := prepare(c.spec, s.env, c.mark)
		if fault == nil {
			p.confined, fault = confine(tree, c.spec.Limits, c.mark)
		}
		s.poll.post(func() { s.launch(c, p, fault) })
	}()
}

func (s *server) launch(c *child, p plan, fault *Fault) {
	switch {
	case c.killed:
		s.drop(&p.confined)
		s.finish(c, Event{Kind: Ended, Killed: true, Never: true})
		return
	case fault != nil:
		s.finish(c, c.neverBegan(fault))
		return
	}
	c.reused = c.reused || p.reused
	if err := c.fork(s, &p); err != nil {
		c.birth = nil
		s.drop(&p.confined)
		s.finish(c, c.neverBegan(startFault(err)))
		return
	}
	s.byPid[c.pid] = c
	s.watch(c)
	b := c.birth
	b.late = s.poll.after(lateStart, func() {
		if c.birth == b {
			s.tell(Event{Kind: HeldUp, Handle: c.handle})
		}
	})
}

// began is called when a process has become its program. The time that this has taken is not the program's,
// where it was held up.
func (s *server) began(c *child) {
	c.birth = nil
	if time.Since(c.started) > heldUp {
		c.started = time.Now()
	}
	c.confined.bound(c.pid)
	s.tell(Event{Kind: Started, Handle: c.handle, Pid: c.pid, Reused: c.reused})
	if c.held {
		c.signal(syscall.SIGSTOP)
	}
	if c.input != nil {
		go s.write(c, c.input)
	}
	s.drain(c)
}

// unborn is called with the end of a process that has not become its program.
func (s *server) unborn(c *child) {
	b := c.birth
	c.birth = nil
	c.closeInput()
	_, _ = unix.Close(c.streams[0].fd), unix.Close(c.streams[1].fd)
	if b.failed() && b.isBusy() && c.busy < maxBusy && !c.killed {
		c.busy++
		group := c.confined.group
		c.pid, c.confined = 0, confinement{}
		s.poll.after(time.Duration(c.busy)*busyPause, func() { s.prepare(c, group) })
		return
	}
	s.drop(&c.confined)
	switch {
	case c.killed:
		s.finish(c, Event{Kind: Ended, Killed: true, Never: true})
	case b.failed():
		s.finish(c, c.neverBegan(b.fault()))
	default:
		s.finish(c, c.neverBegan(&Fault{What: "it was killed before its program began", Next: "see whether something kills processes of its user, and the node's system log (out of memory?)"}))
	}
}

// neverBegan returns the last event of a process that could not be started. Where the node has a fault, or is short
// of something, which others use just then, the process is not at fault; but where it lacks memory and has a limit
// of its own, that limit may be what is too low, anywhere.
func (c *child) neverBegan(f *Fault) Event {
	if !f.ofNode && (f.shortage == 0 || f.shortage == syscall.ENOMEM && c.spec.Limits.Memory > 0) {
		return Event{Kind: Refused, Fault: f, Status: syscall.WaitStatus(f.exit << 8)} //nolint:gosec // one of two
	}
	return Event{Kind: Lost, Never: true, Fault: f}
}

// finishIfEnded sends the last event once the process and both its streams have ended.
func (s *server) finishIfEnded(c *child) {
	if !c.exited || c.open > 0 {
		return
	}
	if c.pipeTimeout != nil {
		c.pipeTimeout.Stop()
	}
	s.finish(c, c.event)
}

// finish sends the last event of an attempt. It is kept until a client has it, which may be the
// next one.
func (s *server) finish(c *child, e Event) {
	e.Handle = c.handle
	if c.exited = true; s.grace > 0 {
		c.final = &e
	} else {
		delete(s.handles, c.handle)
	}
	s.tell(e)
}
