package guard

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/pigeon-sched/pigeon/nodemonitor/backend/cgroup"
)

const (
	pipeWait   = 100 * time.Millisecond // for output that an escaped child may still hold open
	sweepEvery = 50 * time.Millisecond  // search for escaped children at most this often
)

// waiting is how much may wait for the loop before a poster has to wait: a wake-up of its thread
// costs more than most of what it then does.
const waiting = 64

// server is the guard's state. One goroutine, locked to its thread, owns it and
// runs loop; others only post functions for it to run.
type server struct {
	null     int      // /dev/null, the stdin of a process that takes none
	env      []string // the part of the guard's own that processes have
	open     opener
	outputs  *outputs
	programs programs
	tree     *cgroup.Tree   // nil: limits are enforced by rlimits
	removing sync.WaitGroup // of cgroups
	session
	memory

	todo     chan func() // posted by timers and by the goroutines of attempts
	handles  map[Handle]*child
	byPid    map[int]*child
	draining map[*child]bool // the leader has ended by a Kill, others of the group are in their grace
	sweeping bool            // a sweep is due
	retries  int             // how often it may be repeated for unmarked processes
}

// loop serves until its client ends for good, or is gone for longer than the grace.
func (s *server) loop(exits <-chan os.Signal) {
	for !s.over {
		select {
		case r, ok := <-s.requests:
			if ok {
				s.handle(r)
			} else {
				s.clientGone()
			}
		case f := <-s.todo:
			f()
		case <-exits:
			s.reap()
		case <-s.expired:
			return
		}
	}
}

func (s *server) handle(r request) {
	c := s.handles[r.Handle]
	switch {
	case r.Op == opKeep:
		s.kept = r.Kept
	case r.Op == opEnd:
		s.ending = true
	case r.Op == opStart && c == nil && r.Spec != nil:
		s.last = max(s.last, r.Handle)
		s.start(&child{handle: r.Handle, mark: r.Mark, spec: r.Spec})
	case c == nil: // it has ended
	case r.Op == opKill:
		s.kill(c, r.Grace)
	case r.Op == opSuspend:
		c.hold(true)
		c.signal(syscall.SIGSTOP)
	case r.Op == opInput:
		s.feed(c, &r)
	case r.Op == opResume:
		c.hold(false)
		c.signal(syscall.SIGCONT)
	case r.Op == opForget && c.final != nil:
		delete(s.handles, c.handle)
	}
}

// start looks up the program and its folder concurrently with the loop: a file system that hangs
// delays only that attempt.
func (s *server) start(c *child) {
	s.handles[c.handle] = c
	s.prepare(c, &s.programs)
}

func (s *server) prepare(c *child, found *programs) {
	tree := s.tree
	go func() {
		p, fault := prepare(c.spec, s.env, c.mark, found)
		if fault == nil {
			p.confined, fault = confine(tree, c.spec.Limits, c.mark)
		}
		s.todo <- func() { s.launch(c, p, fault) }
	}()
}

func (s *server) launch(c *child, p plan, fault *Fault) {
	switch {
	case c.killed:
		s.drop(&p.confined)
		s.finish(c, Event{Kind: Ended, Killed: true, Never: true})
		return
	case fault != nil:
		s.finish(c, Event{Kind: Refused, Fault: fault})
		return
	}
	if err := c.fork(p, s.null); err != nil {
		s.drop(&p.confined)
		if p.remembered { // it may have gone meanwhile
			s.programs.forget(p.key)
			s.prepare(c, nil)
			return
		}
		s.finish(c, Event{Kind: Refused, Fault: faultOf("the process could not be started", err)})
		return
	}
	s.byPid[c.pid] = c
	s.tell(Event{Kind: Started, Handle: c.handle, Pid: c.pid, Reused: p.reused})
	if c.held {
		c.signal(syscall.SIGSTOP)
	}
	if c.input != nil {
		go s.write(c, c.input)
	}
	s.drain(c)
}

// drain has both streams of a process read, concurrently with the loop, to which the outputs
// report once that they have ended.
func (s *server) drain(c *child) {
	c.open++
	for i, path := range [2]string{c.spec.Stdout, c.spec.Stderr} {
		c.streams.each[i].sink = sink{path: path, limit: c.spec.Limit, rotations: c.spec.Rotations, open: s.open, room: diskHasRoom}
	}
	s.outputs.add(c)
}

// drained is called by the outputs.
func (s *server) drained(children []*child) {
	s.todo <- func() {
		for _, c := range children {
			c.open--
			c.event.Output, c.event.Tail = c.streams.ends, c.streams.tails[1]
			s.finishIfEnded(c)
		}
	}
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
