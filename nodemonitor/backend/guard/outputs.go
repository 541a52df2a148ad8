package guard

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// outputs reads the streams of all processes. One goroutine, collect, waits for the first bytes
// of each and for its end. Most processes write nothing, or end soon after their first bytes: a
// goroutine and an entry in the runtime's poller for each of their streams would cost as much as
// the fork. A stream that has bytes is read by a goroutine of its own from then on, so that a disk
// that hangs delays only that stream.
//
//	waiting ──bytes, or the deadline──▶ read by a goroutine ──its end──▶ ended
//	   └──────────────────── its end ────────────────────────────────────▶┘
type outputs struct {
	epoll int // has the pipes of the waiting streams; it is never closed
	ended func(children []*child)

	mu      sync.Mutex
	waiting map[int32]*stream // by the descriptor of their pipe
}

// stream is one output of a process.
type stream struct {
	sink
	child *child
	fd    int      // of its pipe, while it waits
	pipe  *os.File // nil while it waits
}

// streams are the outputs of one process. Their results belong to the goroutine that ends the
// last one, and then to the server's loop.
type streams struct {
	each  [2]stream
	open  atomic.Int32
	ends  [2]Output
	tails [2][]byte
}

// eventsAtOnce is how many streams are examined after one call of the kernel.
const eventsAtOnce = 128

// newOutputs starts collect, which ends with the process. Ended is called with processes whose
// streams have both ended.
func newOutputs(ended func([]*child)) (*outputs, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // for os.NewFile: this is how it knows that the runtime may poll it
	}
	if err != nil {
		return nil, err
	}
	o := &outputs{epoll: fd, ended: ended, waiting: map[int32]*stream{}}
	raw, err := os.NewFile(uintptr(fd), "outputs").SyscallConn()
	if err != nil {
		return nil, err
	}
	go o.collect(raw)
	return o, nil
}

// collect examines streams whenever there are any with bytes or without a writer.
func (o *outputs) collect(raw syscall.RawConn) {
	var events [eventsAtOnce]unix.EpollEvent
	_ = raw.Read(func(fd uintptr) bool { // it returns when the file is closed, which nothing does
		for {
			n, err := unix.EpollWait(int(fd), events[:], 0)
			if err != nil || n == 0 {
				return false
			}
			if done := o.examine(events[:n]); len(done) > 0 {
				o.ended(done)
			}
		}
	})
}

// examine reads from streams that are said to be readable, and returns the processes whose
// streams have ended.
func (o *outputs) examine(events []unix.EpollEvent) (done []*child) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range events {
		s := o.waiting[events[i].Fd]
		if s == nil {
			continue // read elsewhere meanwhile
		}
		if o.first(s) && s.finish() {
			done = append(done, s.child)
		}
	}
	return done
}

// first reads the first bytes of a stream, and leaves what follows to another goroutine. It
// reports whether the stream has ended without any. It needs the lock.
func (o *outputs) first(s *stream) (ended bool) {
	buf := chunks.Get().(*[chunkBytes]byte)
	n, err := unix.Read(s.fd, buf[:])
	switch {
	case n > 0:
		o.leave(s, buf, n)
		return false
	case err == unix.EAGAIN || err == unix.EINTR:
		o.arm(s, unix.EPOLL_CTL_MOD) // the event was for another pipe, which had this number
		chunks.Put(buf)
		return false
	}
	chunks.Put(buf)
	delete(o.waiting, int32(s.fd)) //nolint:gosec // a descriptor
	_ = unix.Close(s.fd)           // read to its end
	return true
}

// add begins to read the streams of a process that has been started.
func (o *outputs) add(c *child) {
	c.streams.open.Store(int32(len(c.streams.each)))
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range c.streams.each {
		s := &c.streams.each[i]
		o.waiting[int32(s.fd)] = s //nolint:gosec // a descriptor
		o.arm(s, unix.EPOLL_CTL_ADD)
	}
}

// arm waits for the next bytes of a stream or for its end: for one event, since a pipe that is
// closed here stays with the kernel while another process is being forked, and would be reported
// again and again. It needs the lock.
func (o *outputs) arm(s *stream, op int) {
	once := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(s.fd)} //nolint:gosec // a descriptor
	if unix.EpollCtl(o.epoll, op, s.fd, &once) != nil {                                // no memory, or the user's limit of watches
		o.leave(s, chunks.Get().(*[chunkBytes]byte), 0)
	}
}

// leave leaves a stream, with the n bytes that were read already, to a goroutine of its own. It
// needs the lock.
func (o *outputs) leave(s *stream, buf *[chunkBytes]byte, n int) {
	delete(o.waiting, int32(s.fd)) //nolint:gosec // a descriptor
	s.pipe = os.NewFile(uintptr(s.fd), "output")
	go func() {
		s.drain(s.pipe, buf, n)
		if s.finish() {
			o.ended([]*child{s.child})
		}
	}()
}

// expire ends the wait for the ends of a process's streams. What is in the pipes is still read:
// on a busy machine it may not have been read yet.
func (o *outputs) expire(c *child) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range c.streams.each {
		s := &c.streams.each[i]
		if o.waiting[int32(s.fd)] == s { //nolint:gosec // a descriptor
			o.leave(s, chunks.Get().(*[chunkBytes]byte), 0)
		}
		if s.pipe != nil {
			_ = s.pipe.SetReadDeadline(time.Unix(1, 0)) // one that was read to its end is closed
		}
	}
}

// finish closes the file of a stream that has ended, and reports whether it was the last one of
// its process.
func (s *stream) finish() bool {
	all := s.child.streams
	i := 0
	if s == &all.each[1] {
		i = 1
	}
	all.ends[i], all.tails[i] = s.end()
	return all.open.Add(-1) == 0
}
