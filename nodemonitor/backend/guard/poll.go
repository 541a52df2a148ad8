package guard

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// eventsAtOnce is how many sources are served after one call of the kernel.
const eventsAtOnce = 128

// poller waits for everything upon which the loop acts. A goroutine and a channel for each source
// would take several times as long: the loop is bound to its thread, so that each message to it
// wakes a thread of the system.
type poller struct {
	epoll   int
	sources map[uint64]source // by the key under which the kernel reports them
	last    uint64
	events  [eventsAtOnce]unix.EpollEvent

	wake   int // an eventfd, which is signaled for the first of the posted functions
	mu     sync.Mutex
	posted []func() // by timers and by other goroutines; a few for each process
	taken  []func() // the array of posted, in turns
}

// source is a descriptor for which the loop waits.
type source interface {
	// ready is called by the loop with what the kernel reports, a set of unix.EPOLLIN and so on.
	ready(events uint32)
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	p := &poller{epoll: fd, wake: wake, sources: map[uint64]source{}}
	_, err = p.watch(wake, unix.EPOLLIN|unix.EPOLLET, nil) // each signal is reported once, without a read
	return p, err
}

// watch adds a descriptor. Its key is never used again: what is reported of a descriptor that was
// closed meanwhile does not reach another one of the same number.
func (p *poller) watch(fd int, events uint32, s source) (key uint64, err error) {
	p.last++
	p.sources[p.last] = s
	if err := p.control(unix.EPOLL_CTL_ADD, fd, events, p.last); err != nil {
		delete(p.sources, p.last)
		return 0, err
	}
	return p.last, nil
}

// change waits for other events of a descriptor, or again for those of one that was reported and
// has EPOLLONESHOT.
func (p *poller) change(fd int, events uint32, key uint64) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, events, key)
}

// forget removes a source, whose descriptor the caller closes: the kernel forgets it with that.
func (p *poller) forget(key uint64) { delete(p.sources, key) }

func (p *poller) control(op, fd int, events uint32, key uint64) error {
	e := unix.EpollEvent{Events: events}
	e.Fd, e.Pad = halves(key)
	return unix.EpollCtl(p.epoll, op, fd, &e)
}

// halves returns a key as the two numbers that the kernel keeps.
func halves(key uint64) (low, high int32) {
	return int32(uint32(key)), int32(uint32(key >> 32)) //nolint:gosec // bits
}

func whole(low, high int32) (key uint64) {
	return uint64(uint32(low)) | uint64(uint32(high))<<32 //nolint:gosec // bits
}

// post has the loop call f. It never blocks.
func (p *poller) post(f func()) {
	p.mu.Lock()
	p.posted = append(p.posted, f)
	first := len(p.posted) == 1
	p.mu.Unlock()
	if first {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(p.wake, one[:]) // it fails only when it is signaled anyway
	}
}

// after has the loop call f when d has passed.
func (p *poller) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { p.post(f) })
}

// wait serves the sources that are ready, and then the posted functions. It waits for the first
// one for so many milliseconds at most, -1 for any time. It reports whether there was none: the time
// has passed, or a signal was received.
func (p *poller) wait(most int) (quiet bool) {
	n, _ := unix.EpollWait(p.epoll, p.events[:], most) // the only error is a signal
	if n <= 0 {
		return true
	}
	for i := range p.events[:n] {
		e := &p.events[i]
		if s := p.sources[whole(e.Fd, e.Pad)]; s != nil {
			s.ready(e.Events)
		}
	}
	p.mu.Lock()
	p.posted, p.taken = p.taken[:0], p.posted
	p.mu.Unlock()
	for _, f := range p.taken {
		f()
	}
	clear(p.taken)
	return false
}
