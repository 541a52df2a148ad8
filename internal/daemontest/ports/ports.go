// Package ports finds addresses for tests at which nobody listens, for daemons that listen there
// later or again.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The ports are below those that kernels assign to outgoing connections, so that none of these
// occupies one before its daemon starts, or while it is stopped, and above those of peers in tests.
const first, last = 20_000, 32_000

// Addresses returns n addresses on loopback, host:port, all different.
func Addresses(t testing.TB, n int) (addresses []string) {
	t.Helper()
	var held []net.Listener
	for try := 0; len(held) < n; try++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first)))
		switch {
		case err == nil:
			held, addresses = append(held, l), append(addresses, l.Addr().String())
		case try > 100*n:
			t.Fatal(err)
		}
	}
	for _, l := range held {
		_ = l.Close() // nobody has connected
	}
	return addresses
}

// Address is Addresses for one.
func Address(t testing.TB) string {
	t.Helper()
	return Addresses(t, 1)[0]
}
