// Package ports gives tests addresses at which no process listens, for daemons that listen there
// later or again.
package ports

import (
	"sync"
	"testing"

	"github.com/pigeon-sched/pigeon/internal/listener"
)

// pool has the addresses of this process that no test uses. It takes more blocks of ports as they
// are needed, and the process keeps them.
var pool struct { //nolint:gochecknoglobals // the tests of a process share its blocks
	mu       sync.Mutex
	reserved []*listener.Reservation
	free     []string
}

// atOnce is the number of ports that the pool reserves at a time, less than a block has.
const atOnce = 40

// Addresses returns n addresses on loopback, host:port, all different, which belong to the test
// until its end: no other test of this process, and no other process that reserves ports, gets them.
func Addresses(t testing.TB, n int) []string {
	t.Helper()
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for len(pool.free) < n {
		r, err := listener.Reserve(atOnce)
		if err != nil {
			t.Fatal(err)
		}
		pool.reserved = append(pool.reserved, r)
		for range atOnce {
			pool.free = append(pool.free, r.Take())
		}
	}
	addresses := pool.free[:n:n]
	pool.free = pool.free[n:]
	t.Cleanup(func() {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		pool.free = append(pool.free, addresses...)
	})
	return addresses
}

// Address is Addresses for one.
func Address(t testing.TB) string {
	t.Helper()
	return Addresses(t, 1)[0]
}
