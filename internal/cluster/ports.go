package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports of daemons that must be found again after a restart are taken from below
// those that the kernel gives to outgoing connections (from 32768 on Linux), so
// that none of these sits on the port of a killed daemon. They are taken in blocks.
// Whoever listens on the first port of a block has the others, also while its
// daemons are not there yet or killed: clusters that start side by side do not take
// each other's.
const (
	firstPort = 21_000
	lastPort  = 32_000
	blockSize = 50
)

// ports are those that a cluster has.
type ports struct {
	guards []net.Listener
	free   []string // host:port, not given yet
}

// takePorts finds n ports of 127.0.0.1 on which nobody listens.
func takePorts(n int) (*ports, error) {
	const blocks = (lastPort - firstPort) / blockSize
	p := &ports{}
	for k, from := 0, rand.IntN(blocks); k < blocks && len(p.free) < n; k++ { //nolint:gosec // where to look first
		p.takeBlock(firstPort + (from+k)%blocks*blockSize)
	}
	if found := len(p.free); found < n {
		p.release()
		return nil, fmt.Errorf("%w: %d are needed and %d are free from %d to %d of 127.0.0.1", errNoPorts, n, found, firstPort, lastPort)
	}
	return p, nil
}

// takeBlock takes what is free of a block, unless it is another cluster's.
func (p *ports) takeBlock(first int) {
	guard, err := net.Listen("tcp", onLoopback(first))
	if err != nil {
		return
	}
	p.guards = append(p.guards, guard)
	for port := first + 1; port < first+blockSize; port++ {
		if l, err := net.Listen("tcp", onLoopback(port)); err == nil {
			_ = l.Close() // nobody has connected
			p.free = append(p.free, onLoopback(port))
		}
	}
}

func onLoopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// take returns one that was not given before.
func (p *ports) take() string {
	port := p.free[0]
	p.free = p.free[1:]
	return port
}

// release lets others have them.
func (p *ports) release() {
	for _, g := range p.guards {
		_ = g.Close() // nobody has connected
	}
	p.guards = nil
}

var errNoPorts = errors.New("not enough free ports")
