package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Daemons that keep their port over a restart get one from below those that the kernel
// assigns to outgoing connections (from 32768 on Linux), so that no such connection
// occupies the port of a killed daemon. Ports are reserved in blocks: the cluster that
// listens on the first port of a block owns the others, also while its daemons have not
// started or were killed, so that clusters that start side by side do not collide.
const (
	firstPort = 21_000
	lastPort  = 32_000
	blockSize = 50
)

// ports are those that a cluster has reserved.
type ports struct {
	guards []net.Listener
	free   []string // host:port, not taken yet
}

// takePorts finds n ports of 127.0.0.1 on which no process listens.
func takePorts(n int) (*ports, error) {
	const blocks = (lastPort - firstPort) / blockSize
	p := &ports{}
	for k, from := 0, rand.IntN(blocks); k < blocks && len(p.free) < n; k++ { //nolint:gosec // only spreads the first choice
		p.takeBlock(firstPort + (from+k)%blocks*blockSize)
	}
	if found := len(p.free); found < n {
		p.release()
		return nil, fmt.Errorf("%w: %d are needed and %d are free from %d to %d of 127.0.0.1", errNoPorts, n, found, firstPort, lastPort)
	}
	return p, nil
}

// takeBlock reserves the free ports of a block, unless it is another cluster's.
func (p *ports) takeBlock(first int) {
	guard, err := net.Listen("tcp", onLoopback(first))
	if err != nil {
		return
	}
	p.guards = append(p.guards, guard)
	for port := first + 1; port < first+blockSize; port++ {
		if l, err := net.Listen("tcp", onLoopback(port)); err == nil {
			_ = l.Close() // it has no connection
			p.free = append(p.free, onLoopback(port))
		}
	}
}

func onLoopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// take returns a port that was not taken before.
func (p *ports) take() string {
	port := p.free[0]
	p.free = p.free[1:]
	return port
}

// release frees the blocks.
func (p *ports) release() {
	for _, g := range p.guards {
		_ = g.Close() // it has no connection
	}
	p.guards = nil
}

var errNoPorts = errors.New("not enough free ports")
