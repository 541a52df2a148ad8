package filestore

import (
	"errors"
	"io/fs"
	"time"
)

// Stats are counts since the start.
type Stats struct {
	Damaged uint64 // files removed because their content did not match their name
	Missing uint64 // files that were gone when they were to be used
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// look is what shows, without reading it, that a file is the one that was read before.
type look struct {
	size    int64
	changed time.Time
}

func (s *Store) look(sha string) (look, error) {
	info, err := s.disk.Stat(s.Path(sha))
	if err != nil {
		return look{}, err
	}
	return look{info.Size(), info.ModTime()}, nil
}

// check reports whether a file is complete and its content matches its name. The content
// is read once by each process, and again when the file has changed. A file that does not
// match was damaged by a power failure, by the disk or by a user: it is removed, and
// expected again.
func (s *Store) check(sha string) bool {
	s.mu.Lock()
	e := s.files[sha]
	whole := e != nil && e.whole
	s.mu.Unlock()
	if !whole {
		return false
	}
	e.checking.Lock()
	defer e.checking.Unlock()
	s.mu.Lock()
	before := e.checked
	s.mu.Unlock()
	now, err := s.look(sha)
	if errors.Is(err, fs.ErrNotExist) {
		s.reset(sha, e, before, &s.stats.Missing)
		return false
	}
	if err != nil {
		return false // the disk or the system fails; the file may be right
	}
	if now == before {
		return true
	}
	if f, err := s.disk.Open(s.Path(sha)); err != nil || f.Close() != nil {
		return false // likewise
	}
	if got, err := s.sum(s.Path(sha)); err != nil || got != sha {
		s.reset(sha, e, before, &s.stats.Damaged)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.checked == before { // otherwise the file has just been replaced
		e.checked = now
	}
	return true
}

// reset removes a file that was found wrong, expects it again, and counts the reason. before is
// what was known of it then: a file that has been put into its place since is right.
func (s *Store) reset(sha string, e *entry, before look, count *uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[sha] != e || !e.whole || e.placing != nil || e.checked != before {
		return // it was dropped or replaced meanwhile, or is about to be replaced
	}
	*count++
	_ = s.disk.Remove(s.Path(sha)) // it may be gone; what stays is overwritten
	found := e.checked == look{}
	e.have, e.whole, e.checked = 0, false, look{}
	if found || e.size == 0 {
		s.forget(sha) // the size is that of the damaged file, or nothing more will arrive
	}
}
