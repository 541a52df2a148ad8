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
	started hashSet
	before  hashSet // a full one, which a full started replaces
}

func newFence() *fence {
	return &fence{seed: rand.Uint64()} //nolint:gosec // no secret
}

// pass records the start of an attempt; false when it has been started before.
func (f *fence) pass(id sched.AttemptID) bool {
	h := f.hash(id)
	if f.started.has(h) || f.before.has(h) {
		return false
	}
	if f.started.n >= fenceSize {
		f.started, f.before = f.before, f.started
		f.started.clear()
	}
	f.started.add(h)
	return true
}

// hash mixes an attempt, whose job is a hash already.
func (f *fence) hash(id sched.AttemptID) uint64 {
	h := f.seed ^ id.Job.Hi
	for _, v := range [...]uint64{id.Job.Lo, uint64(id.Task)<<32 | uint64(id.Attempt)} { //nolint:gosec // never negative
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return max(h, 1)
}

// hashSet is a set of hashes other than 0: a table with open addressing, which doubles when
// four fifths of it are in use. A map takes more of memory and time.
type hashSet struct {
	table []uint64 // 0: free
	n     int
}

// place returns where a hash is, or the free place where it belongs.
func (s *hashSet) place(h uint64) int {
	mask := len(s.table) - 1
	i := int(h>>1) & mask //nolint:gosec // not negative
	for s.table[i] != h && s.table[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

func (s *hashSet) has(h uint64) bool { return s.n > 0 && s.table[s.place(h)] == h }

func (s *hashSet) add(h uint64) {
	if 5*s.n >= 4*len(s.table) {
		old := s.table
		s.table = make([]uint64, max(1024, 2*len(old)))
		for _, h := range old {
			if h != 0 {
				s.table[s.place(h)] = h
			}
		}
	}
	s.table[s.place(h)] = h
	s.n++
}

// clear removes all hashes and keeps the table.
func (s *hashSet) clear() {
	clear(s.table)
	s.n = 0
}
