package slots

import (
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// fenceSize is the least number of started attempts that a node remembers.
const fenceSize = 100_000

// fence remembers which attempts this node has started, at least the last fenceSize, so that
// none is started a second time, whichever daemon sends it again. It keeps hashes of 64
// bits: by chance, one attempt in 10^14 is mistaken for another, and gets the next number.
type fence struct {
	seed    uint64
	started map[uint64]bool
	before  map[uint64]bool // a full one, which a full started replaces
}

func newFence() *fence {
	return &fence{seed: rand.Uint64(), started: map[uint64]bool{}} //nolint:gosec // no secret
}

// pass records the start of an attempt; false when it has been started before.
func (f *fence) pass(id sched.AttemptID) bool {
	h := f.hash(id)
	if f.started[h] || f.before[h] {
		return false
	}
	if len(f.started) >= fenceSize {
		f.started, f.before = make(map[uint64]bool, fenceSize), f.started
	}
	f.started[h] = true
	return true
}

// hash mixes an attempt, whose job is a hash already.
func (f *fence) hash(id sched.AttemptID) uint64 {
	h := f.seed ^ id.Job.Hi
	for _, v := range [...]uint64{id.Job.Lo, uint64(id.Task)<<32 | uint64(id.Attempt)} { //nolint:gosec // never negative
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}
