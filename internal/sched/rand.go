package sched

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
)

// Rand returns the random source of one job or one role: the draws depend on the
// run's seed and the key alone, so they are the same live and simulated, and in
// whatever order jobs arrive.
func Rand(seed, key uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, key)) }

// RoleKey is the key that seeds the draws of one core. It is far from the numbers
// that are keys of jobs, so that a worker does not repeat what a job drew.
func RoleKey(self Addr) uint64 {
	return 1<<63 | uint64(self.Role)<<32 | uint64(uint32(self.ID)) //nolint:gosec // a bit pattern
}

// DrawKey is the key that seeds a job's draws. A key that is a number (a line
// of a trace) stands for itself.
func DrawKey(key string) uint64 {
	if n, err := strconv.ParseUint(key, 10, 64); err == nil {
		return n
	}
	h := fnv.New64a()
	h.Write([]byte(key)) // a hash never fails to write
	return h.Sum64()
}
