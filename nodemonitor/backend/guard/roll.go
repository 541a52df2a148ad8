package guard

import (
	"fmt"
	"os"
)

// takeRolling writes all of p, over as many files as it needs. What fails counts
// as dropped, and is not tried again.
func (s *sink) takeRolling(p []byte) {
	for len(p) > 0 {
		if s.size >= s.limit {
			s.roll()
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

// roll puts the newest file behind, and lets the oldest go.
func (s *sink) roll() {
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			s.out.Fault = err.Error()
			s.file = nil
			return
		}
	}
	s.file, s.size = nil, 0
	for i := s.rolls; i >= 1; i-- {
		from := s.path
		if i > 1 {
			from = rolled(s.path, i-1)
		}
		if err := os.Rename(from, rolled(s.path, i)); err != nil && !os.IsNotExist(err) {
			s.out.Fault = err.Error()
			return
		}
	}
}

// rolled names the file that was the newest i rolls ago.
func rolled(path string, i int) string { return fmt.Sprintf("%s.%d", path, i) }
