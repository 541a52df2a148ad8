package guard

import (
	"fmt"
	"os"
)

// rotate writes all of p, over as many files as it needs. What fails counts
// as dropped, and is not tried again.
func (s *sink) rotate(p []byte) {
	for len(p) > 0 {
		if s.size >= s.limit {
			s.nextFile()
		}
		piece := p[:min(int64(len(p)), max(s.limit-s.size, 1))]
		n := s.write(piece)
		s.size += int64(n)
		s.out.Kept += int64(n)
		if n < len(piece) {
			s.out.Dropped += int64(len(p) - n)
			return
		}
		p = p[n:]
	}
}

// nextFile renames the newest file and removes the oldest.
func (s *sink) nextFile() {
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			s.out.Fault = err.Error()
			s.file = nil
			return
		}
	}
	s.file, s.size = nil, 0
	for i := s.rotations; i >= 1; i-- {
		from := s.path
		if i > 1 {
			from = rotated(s.path, i-1)
		}
		if err := os.Rename(from, rotated(s.path, i)); err != nil && !os.IsNotExist(err) {
			s.out.Fault = err.Error()
			return
		}
	}
}

// rotated returns the name of the file that was the newest i rotations ago.
func rotated(path string, i int) string { return fmt.Sprintf("%s.%d", path, i) }
