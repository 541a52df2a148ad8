package logs

import (
	"slices"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

const (
	// maxSpares bounds the folders that are kept for later attempts.
	maxSpares = 4096
	// spareAfter is how long after the end of its attempt a folder may be used again: what an
	// attempt has left running is killed meanwhile.
	spareAfter = 100 * time.Millisecond
	// measureAfter is how long after the end of an attempt without output its folder is measured,
	// unless a later attempt has got it by then.
	measureAfter = 500 * time.Millisecond
)

// spares are ended attempts whose working folders are probably empty, the oldest first.
type spares struct{ list []*entry }

// offer adds the folder of an ended attempt, if there is room for it.
func (s *spares) offer(e *entry) {
	if len(s.list) < maxSpares {
		s.list = append(s.list, e)
	}
}

// withdraw keeps the folder of an attempt that is to be removed, that begins again, or that has left
// files.
func (s *spares) withdraw(e *entry) {
	if i := slices.Index(s.list, e); i >= 0 { // old ones are at the beginning
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// take returns the oldest, nil when there is none that may be used.
func (s *spares) take(now time.Time) *entry {
	if len(s.list) == 0 || now.Sub(s.list[0].at) < spareAfter {
		return nil
	}
	e := s.list[0]
	s.list[0] = nil
	s.list = s.list[1:]
	return e
}

// Spare returns the working folder of an ended attempt, probably empty, for a new attempt to use in
// place of a new one, and the ended attempt; "" when there is none. It is returned once. It may have
// files, be gone, or be in use again by a process that has not ended with its attempt: the caller
// must check, and calls Taken when the new attempt has got it, or NotTaken: until then the ended
// attempt is not dropped, because what is removed there could be the new one's.
func (s *Store) Spare() (folder string, of sched.AttemptID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.spares.take(s.cfg.Now())
	if e == nil {
		return "", sched.AttemptID{}
	}
	e.lent = true
	return s.files(e.id).Folder, e.id
}

// Taken records that an ended attempt's folder was empty and is another one's now.
func (s *Store) Taken(of sched.AttemptID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.takeBack(of); e != nil && e.ended && e.silent && e.bytes < 0 {
		e.bytes = 0
	}
}

// NotTaken records that an ended attempt has kept its folder.
func (s *Store) NotTaken(of sched.AttemptID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeBack(of)
}

// takeBack returns an attempt whose folder was handed out, nil when it is not known. It needs the lock.
func (s *Store) takeBack(of sched.AttemptID) *entry {
	e := s.jobs[of.Job][of]
	if e != nil {
		e.lent = false
	}
	return e
}
