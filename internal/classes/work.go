package classes

import (
	"crypto/sha256"
	"slices"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// Samples is how many jobs of a work are kept: the last ones.
const Samples = 16

// workID identifies a work: 128 bits of a hash over its owner and its name, so that what
// is kept of a work has a fixed size whatever its name.
type workID [16]byte

func idOf(owner, name string) workID {
	sum := sha256.Sum256([]byte(owner + "\x00" + name))
	return workID(sum[:16])
}

// work is what is known of the jobs of an owner under one name.
type work struct {
	id       workID
	means    [Samples]sched.Time // of jobs, in a ring
	jobs     uint64              // entered so far; the next is at jobs % Samples
	failures uint64              // tasks that failed
	gone     bool                // it was forgotten
	older    *work               // in the order of their last use
	newer    *work
}

// kept returns how many means are kept.
func (w *work) kept() int { return int(min(w.jobs, Samples)) }

// enter adds the mean of a job and returns its number.
func (w *work) enter(mean sched.Time) uint64 {
	w.means[w.jobs%Samples] = mean
	w.jobs++
	return w.jobs - 1
}

// update changes the mean of a job, unless later jobs have taken its place.
func (w *work) update(job uint64, mean sched.Time) {
	if job < w.jobs && w.jobs-job <= Samples {
		w.means[job%Samples] = mean
	}
}

// summary is what a decision needs of the kept means of a work.
type summary struct {
	jobs                int
	least, median, most sched.Time
	failures            uint64
}

// summary returns the least, the median (the lower of the two in the middle) and the most
// of the kept means.
func (w *work) summary() summary {
	sorted, n := w.means, w.kept()
	slices.Sort(sorted[:n])
	return summary{jobs: n, least: sorted[0], median: sorted[max(0, n-1)/2], most: sorted[max(0, n-1)], failures: w.failures}
}
