package slots

import (
	"math/rand/v2"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// fenceSize is how many attempts a node remembers at least to have started.
const fenceSize = 100_000

// fence remembers which attempts this node has started, at least the last fenceSize, so that
// none is started a second time, whoever sends it again. It keeps hashes of 64 bits: by
// chance, one attempt in 10^14 is taken for another, and gets the next number.
type fence struct {
	seed    uint64
	started map[uint64]struct{}
	before  map[uint64]struct{} // a full one, which a full started replaces
}

func newFence() *fence {
	return &fence{seed: rand.Uint64(), started: map[uint64]struct{}{}} //nolint:gosec // no secret
}

// pass records the start of an attempt; false when it has been started before.
func (f *fence) pass(id sched.AttemptID) bool {
	h := f.hash(id)
	if _, known := f.started[h]; known {
		return false
	}
	if _, known := f.before[h]; known {
		return false
	}
	if len(f.started) >= fenceSize {
		f.started, f.before = f.before, f.started
		if f.started == nil {
			f.started = make(map[uint64]struct{}, fenceSize)
		}
		clear(f.started)
	}
	f.started[h] = struct{}{}
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
