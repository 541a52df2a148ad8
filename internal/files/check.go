package files

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
	whole := e != nil && e.have == e.size
	s.mu.Unlock()
	if !whole {
		return false
	}
	e.checking.Lock()
	defer e.checking.Unlock()
	now, err := s.look(sha)
	if errors.Is(err, fs.ErrNotExist) {
		s.reset(sha, e, &s.stats.Missing)
		return false
	}
	if err != nil {
		return false // the disk or the system fails; the file may be right
	}
	s.mu.Lock()
	known := e.checked == now
	s.mu.Unlock()
	if known {
		return true
	}
	if f, err := s.disk.Open(s.Path(sha)); err != nil || f.Close() != nil {
		return false // likewise
	}
	if got, err := s.sum(s.Path(sha)); err != nil || got != sha {
		s.reset(sha, e, &s.stats.Damaged)
		return false
	}
	s.mu.Lock()
	e.checked = now
	s.mu.Unlock()
	return true
}

// reset removes a file, expects it again, and counts the reason.
func (s *Store) reset(sha string, e *entry, count *uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[sha] != e || e.have != e.size {
		return // it was dropped meanwhile
	}
	*count++
	_ = s.disk.Remove(s.Path(sha)) // it may be gone; what stays is overwritten
	found := e.checked == look{}
	e.have, e.checked = 0, look{}
	if found || e.size == 0 {
		delete(s.files, sha) // the size is that of the damaged file, or nothing more will arrive
	}
}
