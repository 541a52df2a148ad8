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
// that none of these sits on the port of a killed daemon.
const (
	firstPort = 21_000
	lastPort  = 32_000
)

// freePorts finds n ports of 127.0.0.1 on which nobody listens now.
func freePorts(n int) ([]string, error) {
	var found []string
	from := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // where to look first
	for k := range lastPort - firstPort {
		port := firstPort + (from-firstPort+k)%(lastPort-firstPort)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		if found = append(found, address); len(found) == n {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%w: %d are needed and %d are free from %d to %d of 127.0.0.1", errNoPorts, n, len(found), firstPort, lastPort)
}

var errNoPorts = errors.New("not enough free ports")
