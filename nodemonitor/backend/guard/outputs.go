package guard

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stream is one output of a process. The loop waits for its first bytes and for its end: most
// processes write nothing. A stream that has bytes is read by a goroutine of its own from then on,
// so that a disk that hangs delays only that stream.
//
//	waiting ──bytes, or the deadline──▶ read by a goroutine ──its end──▶ ended
//	   └──────────────────── its end ────────────────────────────────────▶┘
type stream struct {
	sink  // the goroutine's until its end, where there is one
	s     *server
	child *child
	fd    int      // of its pipe
	key   uint64   // in the poller while it waits, else 0
	pipe  *os.File // nil until it is read by a goroutine
}

// once waits for one event: a stream that is left to a goroutine needs no other call then.
const once = unix.EPOLLIN | unix.EPOLLONESHOT

// drain begins to read both streams of a process that has been started.
func (s *server) drain(c *child) {
	for i, path := range [2]string{c.spec.Stdout, c.spec.Stderr} {
		t := &c.streams[i]
		t.s, t.child = s, c
		t.sink = sink{path: path, limit: c.spec.Limit, rotations: c.spec.Rotations, open: s.open, room: diskHasRoom}
		c.open++
		var err error
		if t.key, err = s.poll.watch(t.fd, once, t); err != nil { // no memory, or the user's limit of watches
			t.leave(chunks.Get().(*[chunkBytes]byte), 0)
		}
	}
}

// ready implements source.
func (t *stream) ready(events uint32) {
	if events&unix.EPOLLIN == 0 { // no writer, and no bytes
		t.close()
		return
	}
	buf := chunks.Get().(*[chunkBytes]byte)
	n, err := unix.Read(t.fd, buf[:])
	switch {
	case n > 0:
		t.leave(buf, n)
		return
	case err == unix.EAGAIN || err == unix.EINTR:
		if t.s.poll.change(t.fd, once, t.key) != nil {
			t.leave(buf, 0)
			return
		}
	default:
		t.close()
	}
	chunks.Put(buf)
}

// close ends a stream that was read to its end, without a byte.
func (t *stream) close() {
	t.stop()
	_ = unix.Close(t.fd) // only read from
	t.ended(t.end())
}

// stop ends the wait of the loop.
func (t *stream) stop() {
	t.s.poll.forget(t.key)
	t.key = 0
}

// leave leaves the stream, with the n bytes that were read already, to a goroutine.
func (t *stream) leave(buf *[chunkBytes]byte, n int) {
	t.stop()
	t.pipe = os.NewFile(uintptr(t.fd), "output")
	go func() {
		t.sink.drain(t.pipe, buf, n)
		out, tail := t.end()
		t.s.poll.post(func() { t.ended(out, tail) })
	}()
}

// expire ends the wait for the end of a stream. What is in its pipe is still read: on a busy
// machine it may not have been read yet.
func (t *stream) expire() {
	if t.key != 0 {
		t.leave(chunks.Get().(*[chunkBytes]byte), 0)
	}
	if t.pipe != nil {
		_ = t.pipe.SetReadDeadline(time.Unix(1, 0)) // one that was read to its end is closed
	}
}

// ended records how a stream has ended.
func (t *stream) ended(out Output, tail []byte) {
	c := t.child
	if t == &c.streams[0] {
		c.event.Output[0] = out
	} else {
		c.event.Output[1], c.event.Tail = out, tail
	}
	c.open--
	t.s.finishIfEnded(c)
}
