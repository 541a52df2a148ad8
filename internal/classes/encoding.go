package classes

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// What is known of works is saved as the header, the number of works, the works from the
// least to the most recently used one, and the first bytes of a SHA-256 over all that. A
// work is its id, the number of tasks that failed, and the number of kept means and these,
// the oldest first.

const (
	header   = "pigeon classes 1\n"
	sumBytes = 8
)

// Changes counts the changes of what Save returns, but for the order of last uses.
func (l *Learner) Changes() uint64 { return l.changes }

// Save returns what is known of works, at most 200 bytes of each.
func (l *Learner) Save() []byte {
	b := make([]byte, 0, len(header)+sumBytes+10+len(l.works.byID)*(len(workID{})+8+Samples*6))
	b = append(b, header...)
	b = binary.AppendUvarint(b, uint64(len(l.works.byID)))
	for w := l.works.oldest; w != nil; w = w.newer {
		b = append(b, w.id[:]...)
		b = binary.AppendUvarint(b, w.failures)
		b = binary.AppendUvarint(b, uint64(w.kept()))
		for job := w.jobs - uint64(w.kept()); job < w.jobs; job++ {
			b = binary.AppendUvarint(b, uint64(w.means[job%Samples]))
		}
	}
	return seal(b)
}

// seal appends the checksum of what is saved.
func seal(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:sumBytes]...)
}

// unseal returns a reader of what was saved after its header. The error says that it is
// something else, or damaged.
func unseal(b []byte, header string) (*reader, error) {
	if len(b) < len(header)+sumBytes || string(b[:len(header)]) != header {
		return nil, fmt.Errorf("it does not begin with %q", header)
	}
	b, want := b[:len(b)-sumBytes], b[len(b)-sumBytes:]
	if sum := sha256.Sum256(b); string(sum[:sumBytes]) != string(want) {
		return nil, errors.New("its checksum is wrong")
	}
	return &reader{b[len(header):], nil}, nil
}

// Load replaces what is known of works by what was saved. After an error the learner knows
// what it knew before.
func (l *Learner) Load(saved []byte) error {
	loaded, err := decode(saved, l.settings.MaxWorks)
	if err != nil {
		return err
	}
	l.works = *loaded
	return nil
}

var errShort = errors.New("it ends too early")

// decode returns the saved works, without the least recently used ones if there
// are more than most.
func decode(b []byte, most int) (*works, error) {
	r, err := unseal(b, header)
	if err != nil {
		return nil, err
	}
	s := &works{most: most, byID: map[workID]*work{}}
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		r.work(s)
	}
	return s, r.end()
}

// reader reads what was saved, up to the first error.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// end returns the first error; there is one, too, when bytes are left.
func (r *reader) end() error {
	if len(r.rest) > 0 {
		r.fail(fmt.Errorf("it has %d bytes too many", len(r.rest)))
	}
	return r.err
}

func (r *reader) work(s *works) {
	var id workID
	if len(r.rest) < len(id) {
		r.fail(errShort)
		return
	}
	r.rest = r.rest[copy(id[:], r.rest):]
	failures, kept := r.uint(), r.uint()
	if kept > Samples {
		r.fail(fmt.Errorf("a work has %d jobs, and %d are kept at most", kept, Samples))
		return
	}
	w := s.make(id)
	w.failures = failures
	for range kept {
		mean := r.uint()
		if mean > 1<<62 {
			r.fail(fmt.Errorf("a mean of %d ns is too long", mean))
			return
		}
		w.enter(sched.Time(mean)) //nolint:gosec // checked
	}
}
