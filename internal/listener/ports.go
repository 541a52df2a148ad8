package listener

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	firstPort = 21_000
	lastPort  = 32_000
	blockSize = 50
	blocks    = (lastPort - firstPort) / blockSize
)

// ErrNone is the error of a reservation of more ports than are free.
var ErrNone = errors.New("not enough free ports")

// Reservation is a number of ports of 127.0.0.1 that this process owns, for daemons that listen there
// later, or again after they were stopped. Its methods are called from one goroutine at a time.
//
// The ports are below those that the kernel assigns to outgoing connections (from 32768 on
// Linux), so that no such connection occupies the port of a stopped daemon. They are reserved in
// blocks: the process that listens on the first port of a block owns the others, also while no
// process listens there, so that processes that run at the same time do not collide.
type Reservation struct {
	guards []net.Listener
	free   []string // host:port, not taken yet
}

// Reserve reserves n ports on which no process listens. The error wraps ErrNone.
func Reserve(n int) (*Reservation, error) {
	r, from := &Reservation{}, rand.IntN(blocks) //nolint:gosec // only spreads the first choice
	for k := 0; k < blocks && len(r.free) < n && n < blocks*blockSize; k++ {
		r.reserveBlock(firstPort + (from+k)%blocks*blockSize)
	}
	if found := len(r.free); found < n {
		r.Release()
		return nil, fmt.Errorf("%w: %d are needed and %d are free from %d to %d of 127.0.0.1", ErrNone, n, found, firstPort, lastPort)
	}
	return r, nil
}

// reserveBlock reserves the free ports of a block, unless another process owns it.
func (r *Reservation) reserveBlock(first int) {
	guard, err := Listen(onLoopback(first))
	if err != nil {
		return
	}
	r.guards = append(r.guards, guard)
	for port := first + 1; port < first+blockSize; port++ {
		if l, err := Listen(onLoopback(port)); err == nil {
			_ = l.Close() // it has no connection
			r.free = append(r.free, onLoopback(port))
		}
	}
}

func onLoopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Take returns a port, host:port, that was not taken before. It panics when all were.
func (r *Reservation) Take() string {
	port := r.free[0]
	r.free = r.free[1:]
	return port
}

// Release frees the blocks.
func (r *Reservation) Release() {
	for _, g := range r.guards {
		_ = g.Close() // it has no connection
	}
	r.guards, r.free = nil, nil
}
